import { randomUUID } from 'node:crypto';
import type { Outcome } from '../contract/call.js';
import type { FailureClass } from '../contract/failure.js';
import type { AgentRunInput } from '../contract/run.js';
import type { RunLimits } from '../contract/run-limits.js';
import { taskQueueFor } from '../contract/task-queue.js';
import { agentsOf, ledgerEffects } from '../policy/ledger-effect.js';
import { planResume } from '../policy/resume-run.js';
import { describeCap, reachedCap } from '../policy/run-budget.js';
import type { CapReason } from '../policy/run-budget.js';
import type { RunRecord } from '../store/records.js';
import type { Store } from '../store/store.js';
import { refuseCollectedRun } from './collected-run.js';
import { PerdureError } from './perdure-error.js';
import { runState } from './run-description.js';
import type { RunServer, ServerRun } from './run-server.js';
import { userName } from './user-name.js';

/** How a run goes on. Default: as it was started, without asking the model anew. */
export interface RetryOptions {
  /** The model is asked anew for its last turn; the answer that it gave is set aside. */
  askAgain?: boolean;
  /** Limits instead of those that the run was started with, cap by cap. */
  limits?: Partial<RunLimits>;
  /** Model from here on, `provider:model`. */
  model?: string;
  /** Terminates a run that is stuck (its workflow task fails again and again), so that it can go on. */
  endStuck?: boolean;
  /** Why, for the record. */
  note?: string;
  /** Who asks, for the record. Default: the user of this process. */
  by?: string;
}

/** What a retry would do, by what the store holds now. */
export interface RetryPlan {
  /** Calls of the last step that are executed, for the first time or again; then with the failure that is taken back. */
  rerun: { callId: string; tool: string; former?: FailureClass }[];
  /** Calls that are not: nobody knows whether they happened. `perdure resolve` settles them. */
  unresolved: { callId: string; tool: string }[];
}

/** Which run is meant: its name for people and its identity. */
interface NamedRun {
  runId: string;
  runKey: string | undefined;
}

/** Has a run go on that ended badly. Changes nothing itself but on the server: the worker that takes the run up does the rest. */
export class RunRetry {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Rejects with `run_not_found`, `run_open`, `usage`; each says what to type instead. */
  async start(run: NamedRun, runs: RunServer, options: RetryOptions): Promise<RetryPlan> {
    const { runId } = run;
    const server = await runs.describe(runId);
    const { stored, plan } = await this.plan(run, server, options);
    if (server?.status === 'running' && !(await endStuck(runs, server))) return await this.start(run, runs, options);
    const input: AgentRunInput & { runKey: string } = {
      task: stored.task,
      runKey: stored.runKey,
      ...(options.limits ? { limits: options.limits } : {}),
      ...modelOf(stored, options),
      resume: {
        id: randomUUID(),
        by: options.by ?? userName(),
        ...(options.note === undefined ? {} : { note: options.note }),
        ...(options.askAgain ? { askAgain: true } : {}),
      },
    };
    await runs.start({ id: runId, input, taskQueue: taskQueueFor(this.#store.storeId), again: true });
    return plan;
  }

  /** Rejects as `start` does, and changes nothing. Without what the server says, an open run is not told from a dead one. */
  async plan(
    { runId, runKey }: NamedRun,
    server: ServerRun | undefined,
    options: RetryOptions,
  ): Promise<{ stored: RunRecord; plan: RetryPlan }> {
    await refuseCollectedRun(this.#store, runKey ?? server?.runKey);
    const stored = runKey === undefined ? undefined : await this.#store.getRun(runKey);
    if (!stored) throw notBegun(runId, server, taskQueueFor(this.#store.storeId));
    refuseOthers(stored, server);
    const isStuck = server?.stuck !== undefined;
    if (server?.status === 'running' && !(isStuck && options.endStuck)) throw stillOpen(runId, server);
    if (runState(stored, server) === 'completed' && !options.askAgain) throw hasAnswered(runId);
    refuseSpent(stored, options.limits);
    return { stored, plan: await this.#plan(stored, options) };
  }

  async #plan(run: RunRecord, options: RetryOptions): Promise<RetryPlan> {
    const [turns, calls, manifest, nowMs] = await Promise.all([
      this.#store.listTurns(run.runKey),
      this.#store.listCalls(run.runKey),
      this.#store.getManifest(run.manifestHash),
      this.#store.now(),
    ]);
    const plan = planResume({
      run,
      turns,
      rows: new Map(calls.map(({ row }) => [row.key, row])),
      effectOf: ledgerEffects(manifest),
      isAgent: agentsOf(manifest),
      askAgain: options.askAgain === true,
      nowMs,
    });
    const [undecided] = plan.undecided;
    if (undecided) {
      throw new PerdureError(
        'usage',
        `Nobody knows whether ${undecided.tool} (${undecided.callId}) happened, so its turn cannot be set aside.`,
        { next: `Say it: perdure resolve ${run.workflowId} --call ${undecided.callId} --happened (or --did-not)` },
      );
    }
    const former = new Map(plan.reopened.map(({ key, outcome }) => [key, outcome]));
    return {
      rerun: (plan.calls ?? []).flatMap((call) =>
        call.status === 'open'
          ? [{ callId: call.call.callId, tool: call.call.tool, ...formerClass(former.get(call.call.key)) }]
          : [],
      ),
      unresolved: plan.unresolved.map(({ callId, tool }) => ({ callId, tool })),
    };
  }
}

/** False where it has ended meanwhile: somebody else's retry may have the run by now, which is to be looked at anew. */
async function endStuck(runs: RunServer, server: ServerRun): Promise<boolean> {
  const reason = server.stuck?.reason ?? 'no reason known';
  try {
    await runs.terminate(server, `perdure retry: the run was stuck (${reason})`);
    return true;
  } catch (error) {
    if (error instanceof PerdureError && error.code === 'run_not_found') return false;
    throw error;
  }
}

function formerClass(outcome: Outcome | undefined): { former?: FailureClass } {
  return outcome && 'failure' in outcome ? { former: outcome.failure.class } : {};
}

function modelOf(stored: RunRecord, options: RetryOptions): { model?: string } {
  const model = options.model ?? stored.pinned?.model;
  return model === undefined ? {} : { model };
}

/** Runs that are no agent run of their own. */
function refuseOthers(stored: RunRecord, server: ServerRun | undefined): void {
  const { workflowId, pinned } = stored;
  if (pinned?.agent) {
    const parent = workflowId.slice(0, workflowId.lastIndexOf('/'));
    throw new PerdureError('usage', `The run ${workflowId} is the agent ${pinned.agent.tool} of another run.`, {
      next: `It goes on with that run: perdure retry ${parent}`,
    });
  }
  if (stored.head === '') {
    throw new PerdureError(
      'usage',
      `The run ${workflowId} is a workflow of your own, whose steps perdure does not know.`,
      {
        next: `Go on with it by: temporal workflow reset --workflow-id ${workflowId} --type LastWorkflowTask --reason "…"`,
      },
    );
  }
  if (server?.runKey !== undefined && server.runKey !== stored.runKey) {
    throw new PerdureError('run_exists', `On the server the id "${workflowId}" is another run's by now.`, {
      next: `Look at it with: perdure show ${workflowId}`,
    });
  }
}

function notBegun(id: string, server: ServerRun | undefined, taskQueue: string): PerdureError {
  if (server && server.taskQueue !== taskQueue) {
    return new PerdureError(
      'run_not_found',
      `The run ${id} is in another store: its task queue is ${server.taskQueue}.`,
      {
        next: 'Use the configuration of that store: perdure --config FILE …',
      },
    );
  }
  if (server) {
    return new PerdureError('run_open', `The run ${id} has not begun, so there is nothing to go on from.`, {
      next: server.status === 'running' ? 'Start a worker: perdure worker' : 'Start it anew: perdure run "…"',
    });
  }
  return new PerdureError('run_not_found', `There is no run "${id}".`, { next: 'See which there are: perdure list' });
}

function stillOpen(id: string, server: ServerRun): PerdureError {
  if (server.stuck) {
    const { attempts, reason } = server.stuck;
    return new PerdureError(
      'run_open',
      `The run ${id} is stuck: its workflow task failed ${attempts} times: ${reason}`,
      {
        next: `End this execution and go on from the last step: perdure retry ${id} --yes`,
      },
    );
  }
  return new PerdureError('run_open', `The run ${id} has not ended, and goes on by itself.`, {
    next: `See how it does: perdure show ${id} - or end it first: perdure cancel ${id}`,
  });
}

function hasAnswered(id: string): PerdureError {
  return new PerdureError('usage', `The run ${id} is completed: the model gave its answer.`, {
    next: `Ask the model for another answer: perdure retry ${id} --ask-again`,
  });
}

const limitOptions: Partial<Record<CapReason, string>> = {
  steps_cap: '--max-steps',
  calls_cap: '--max-calls',
  tokens_cap: '--max-tokens',
  cost_cap: '--max-cost',
  wall_time_cap: '--max-time',
  failures_cap: '--max-failures',
};

/** A run that a limit ended would end there again. */
function refuseSpent(
  { workflowId, result, pinned, startedAtMs, updatedAtMs }: RunRecord,
  raised?: Partial<RunLimits>,
): void {
  if (!result || !pinned) return;
  const limits = { ...pinned.limits, ...raised };
  const cap = reachedCap(result.counters, limits, updatedAtMs - startedAtMs);
  // Called after a pause, the wall time is counted without it, which only the worker does.
  if (!cap || (cap === 'wall_time_cap' && result.termination.reason !== cap)) return;
  const option = limitOptions[cap] ?? '--max-steps';
  throw new PerdureError('usage', `The run ${workflowId} would end at once: ${describeCap(cap, limits)}.`, {
    next: `Raise it: perdure retry ${workflowId} ${option} …`,
  });
}
