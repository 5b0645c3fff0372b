/**
 * Failpoints of a worker process: named moments of a call at which the process kills, stops or blocks itself. They are put
 * around the methods that mark those moments, so that the product's code knows nothing of them.
 */
import { createRequire } from 'node:module';
import { Claim } from '../../../src/activities/claim.js';
import { ConversationCache } from '../../../src/activities/conversation-cache.js';

export type Moment =
  /** An activity was handed to the worker, nothing of it is done; `tool` is the activity's type. */
  | 'activity'
  /** Polled, nothing asked of the ledger yet. */
  | 'before-claim'
  | 'claimed'
  /** The server has confirmed the attempt where it was asked, the start is not counted yet. */
  | 'confirmed'
  /** The start is counted, nothing is sent. */
  | 'begun'
  /** In the body, at its first line; where it connects first, between that and the request. */
  | 'in-body'
  /** In the body, with the backend's answer in hand. */
  | 'answered'
  /** The outcome is stored, the activity not completed. */
  | 'settled'
  /** In `reconcile`, at its first line. */
  | 'reconciling'
  | 'model-asked'
  | 'model-answered'
  | 'turn-committed'
  /** A workflow task has come, nothing of it is done. */
  | 'workflow-task'
  /** The workflow has made its commands, the server has none of them. */
  | 'workflow-task-done'
  /** One of those commands is to continue as new. */
  | 'continue-as-new';

export interface Failpoint {
  at: Moment;
  /** Only in calls of this tool; at `activity`, in activities of this type. */
  tool?: string;
  /** `pause` holds only this call or turn, until the worker is told to resume; it is for moments before the body. */
  action: 'kill' | 'stop' | 'pause' | { blockMs: number };
  /** How often; default once. */
  times?: number;
  /** So many times it is passed over first. */
  after?: number;
}

let armed: Failpoint[] = [];

export function arm(failpoints: Failpoint[]): void {
  armed = failpoints.map((failpoint) => ({ ...failpoint }));
}

/** Reaches a moment. Returns where the process is to go on. */
export function reach(at: Moment, tool?: string): void {
  const failpoint = armed.find((one) => one.at === at && (one.tool === undefined || one.tool === tool));
  if (!failpoint) return;
  if (failpoint.after !== undefined && failpoint.after > 0) {
    failpoint.after -= 1;
    return;
  }
  failpoint.times = (failpoint.times ?? 1) - 1;
  if (failpoint.times === 0) armed = armed.filter((one) => one !== failpoint);
  const { action } = failpoint;
  if (action === 'pause') throw new Error(`failpoint ${at}: a call cannot be paused there`);
  process.stderr.write(`failpoint ${at} ${tool ?? ''} ${JSON.stringify(action)}\n`);
  if (action === 'kill') process.kill(process.pid, 'SIGKILL');
  else if (action === 'stop') process.kill(process.pid, 'SIGSTOP');
  else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, action.blockMs);
}

let resume = Promise.withResolvers<void>();

export function resumePaused(): void {
  resume.resolve();
  resume = Promise.withResolvers();
}

/** As `reach`, at a moment where the call can wait. */
export async function pass(at: Moment, tool?: string): Promise<void> {
  const paused = armed.find((one) => one.at === at && one.tool === tool && one.action === 'pause');
  if (!paused) {
    reach(at, tool);
    return;
  }
  armed = armed.filter((one) => one !== paused);
  process.stderr.write(`failpoint ${at} ${tool ?? ''} "pause"\n`);
  await resume.promise;
}

interface WorkflowCompletion {
  successful?: { commands?: { continueAsNewWorkflowExecution?: unknown }[] | null } | null;
}

/** What the SDK's worker asks for each workflow task; the code itself runs in a thread of its own. */
const { VMWorkflowThreadProxy } = createRequire(import.meta.url)('@temporalio/worker/lib/workflow/threaded-vm') as {
  VMWorkflowThreadProxy: { prototype: { activate(activation: unknown): Promise<WorkflowCompletion> } };
};

function installWorkflowFailpoints(): void {
  const { activate } = VMWorkflowThreadProxy.prototype;
  VMWorkflowThreadProxy.prototype.activate = async function (activation) {
    reach('workflow-task');
    const completion = await activate.call(this, activation);
    const commands = completion.successful?.commands ?? [];
    if (commands.some((command) => command.continueAsNewWorkflowExecution)) reach('continue-as-new');
    if (commands.length > 0) reach('workflow-task-done');
    return completion;
  };
}

/** Puts the moments of the ledger, of model turns and of workflow tasks around the methods that mark them. */
export function installFailpoints(): void {
  installWorkflowFailpoints();
  const { take, begin, settle } = Claim.prototype;
  Claim.prototype.take = async function () {
    await pass('before-claim', this.tool);
    const verdict = await take.call(this);
    await pass('claimed', this.tool);
    return verdict;
  };
  Claim.prototype.begin = async function () {
    await pass('confirmed', this.tool);
    const verdict = await begin.call(this);
    if (verdict.type === 'accepted') reach('begun', this.tool);
    return verdict;
  };
  Claim.prototype.settle = async function (outcome, rendered) {
    const settled = await settle.call(this, outcome, rendered);
    reach('settled', this.tool);
    return settled;
  };
  const { extend } = ConversationCache.prototype;
  ConversationCache.prototype.extend = function (head, conversation, newHead) {
    reach('turn-committed');
    extend.call(this, head, conversation, newHead);
  };
}
