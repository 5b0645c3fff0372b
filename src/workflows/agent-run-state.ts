import { CancellationScope } from '@temporalio/workflow';
import type { CallModelInput, CallModelResult, Nudge } from '../contract/activities.js';
import type { Outcome, PreparedCall } from '../contract/call.js';
import type { Failure } from '../contract/failure.js';
import type { ResumedRun } from '../contract/intervention.js';
import type { AgentRunInput, AgentRunResult, CarriedRun, PaidCall, TerminationReason } from '../contract/run.js';
import { countOutcome, takeEmphasis } from '../policy/emphasis.js';
import { isStuck, loopLimitsOf } from '../policy/loop-defence.js';
import { keyOf } from '../policy/prepared-call.js';
import { isStalled } from '../policy/progress.js';
import { admitCalls, describeCap, reachedCap } from '../policy/run-budget.js';
import type { CapReason } from '../policy/run-budget.js';
import { statusOf, summaryOf } from '../policy/run-end.js';
import { cancelled, readActivityError } from '../temporal/failure-mapper.js';
import { AgentCalls } from './agent-calls.js';
import { answeredCall } from './answered-call.js';
import { isFailed } from './execute-calls.js';
import type { StepContext } from './execute-calls.js';
import { openRun } from './open-run.js';
import type { OpenedRun } from './open-run.js';
import { refuse } from './refuse-call.js';
import { ResumedStep } from './resumed-step.js';
import { bookkeeping, callModel } from './run-activities.js';
import { RunPanel } from './run-panel.js';
import { StepGuards, answer } from './step-guards.js';

/** A model turn, or the run's end where there was none to be had. */
export type TurnEnd = { status: 'answered'; result: CallModelResult } | { status: 'ended'; result: AgentRunResult };

/**
 * What an agent run knows between its steps. All of it is in `carry()`: a field that continue-as-new does not carry
 * would be forgotten in the middle of a run.
 */
export class AgentRun {
  readonly #input: AgentRunInput;
  readonly #runKey: string;
  readonly #state: CarriedRun;
  readonly #panel: RunPanel;
  /** Guards of the step under way. */
  #step: StepGuards | undefined;
  /** The end that holds the words of the model's last turn, which is the run's head. */
  #spoken: AgentRunResult | undefined;

  /** What a resumed run has to do first. */
  #resumed: ResumedRun | undefined;

  private constructor(input: AgentRunInput, opened: OpenedRun) {
    this.#input = input;
    this.#runKey = opened.runKey;
    this.#state = opened.state;
    this.#resumed = opened.resumed;
    this.#panel = new RunPanel(opened.state.searchAttributes);
  }

  /** Starts the run, goes on with one that ended before, or takes up what continue-as-new carried over. */
  static async open(input: AgentRunInput): Promise<AgentRun> {
    const opened = await openRun(input);
    const run = new AgentRun(input, opened);
    if (opened.how !== 'continued') run.#panel.statusChanged('running');
    const { seen } = opened.resumed ?? {};
    if (seen) run.#panel.stepEnded(run.#state, seen.tools, seen.classes);
    return run;
  }

  /** What the former execution left to be done before the model is asked again; the answer, where it was there already. */
  get resumed(): { step?: ResumedStep; answer?: string } {
    const { calls, answer } = this.#resumed ?? {};
    return { ...(calls ? { step: new ResumedStep(calls) } : {}), ...(answer === undefined ? {} : { answer }) };
  }

  reachedCap(): CapReason | undefined {
    const { counters, limits, startedAtMs, loop, loopPolicy, progress } = this.#state;
    const stuck = loopPolicy.onExhausted === 'stop' && isStuck(loop, loopLimitsOf(loopPolicy));
    if (stuck) return 'loop_detected';
    if (progress && isStalled(progress, loopPolicy.stalledRounds)) return 'no_progress';
    return reachedCap(counters, limits, Date.now() - startedAtMs);
  }

  /**
   * Asks the model for its next turn. A turn that is empty, or a tool call written as text, is asked for once more, with a
   * word on what was wrong. A second text that looks like a call is taken for the answer that somebody may have asked for.
   */
  async askModel(finalTurn?: CallModelInput['finalTurn']): Promise<TurnEnd> {
    const { emphasis, streaks } = takeEmphasis(this.#state);
    Object.assign(this.#state, streaks);
    // The last turn, which may not ask for tools, is no step of the budget.
    const next = finalTurn ? undefined : this.#state.nextTurn;
    const { step, take: firstTake } = next ?? { step: this.#state.counters.steps + 1, take: 0 };
    delete this.#state.nextTurn;
    if (!finalTurn) this.#state.counters.steps = Math.max(this.#state.counters.steps, step);
    this.#panel.show(this.#state, 'asking the model');
    let nudge: Nudge | undefined;
    for (const take of [firstTake, firstTake + 1]) {
      let turn: CallModelResult;
      try {
        turn = await callModel(
          {
            runKey: this.#runKey,
            storeId: this.#state.storeId,
            step,
            take,
            head: this.#state.head,
            manifestHash: this.#state.manifest.hash,
            answered: this.#state.answered,
            ...(this.#input.model === undefined ? {} : { model: this.#input.model }),
            ...(this.#input.agent ? { agent: this.#input.agent.tool } : {}),
            ...(emphasis.length > 0 ? { emphasis } : {}),
            ...(nudge ? { nudge } : {}),
            ...(finalTurn ? { finalTurn } : {}),
          },
          this.#state.heartbeatTimeoutMs,
        );
      } catch (error) {
        const end = readActivityError(error);
        if (end.kind === 'failure') return { status: 'ended', result: this.#modelFailed(end.failure) };
        if (end.kind === 'timeout' || end.kind === 'unfinished')
          return { status: 'ended', result: this.end('model_failed') };
        throw error;
      }
      this.#charge(turn);
      nudge = turn.empty ? 'empty' : turn.textualCall && take === firstTake ? 'textual_call' : undefined;
      if (!nudge) {
        this.#state.head = turn.head;
        this.#state.answered = [];
        return { status: 'answered', result: turn };
      }
    }
    return { status: 'ended', result: this.end('empty_turns') };
  }

  /** The last turn at a cap: no tools are offered, the model is told why, and what it writes is the answer. */
  async answerWithoutTools(cap: CapReason): Promise<AgentRunResult> {
    const reason = describeCap(cap, this.#state.limits);
    const turn = await this.askModel({ reason });
    if (turn.status === 'answered') {
      // A model may ask for tools although none is offered: those calls have an outcome too.
      this.#state.answered = turn.result.calls.map((prepared) =>
        answeredCall(
          prepared.status === 'answered' ? prepared.outcome : refuse(prepared.call, 'skipped', 'the run had ended'),
        ),
      );
      return this.endWith(cap, turn.result.text);
    }
    // The cap ended the run, whatever became of the last turn; its own trouble is told in the summary.
    const { summary } = turn.result.termination;
    return { ...this.end(cap), termination: { reason: cap, summary: `${reason}; no final answer: ${summary}` } };
  }

  /**
   * Reserves the step's calls before any of them is scheduled. What the budget, a blown fuse or loop defence refuses is
   * answered at once. A call that has its place already takes no other.
   */
  admit(calls: PreparedCall[]): PreparedCall[] {
    const unpaid = calls.filter((prepared) => !this.#paidFor(keyOf(prepared)));
    const room = admitCalls(this.#state.counters, this.#state.limits, unpaid.length);
    const refused = new Set(unpaid.slice(room));
    this.#step = new StepGuards(this.#state, Date.now());
    const guards = this.#step;
    const admitted = calls.map((prepared): PreparedCall => {
      if (!refused.has(prepared)) return guards.admit(prepared);
      if (prepared.status === 'answered') return prepared;
      const reason = describeCap('calls_cap', this.#state.limits);
      return answer(prepared.call, refuse(prepared.call, 'budget_exhausted', reason));
    });
    this.#state.counters.calls += room;
    return admitted;
  }

  stepContext(): StepContext {
    const { storeId, manifest, heartbeatTimeoutMs, head, consecutiveFailures } = this.#state;
    this.#panel.show(this.#state, 'running tools');
    return {
      storeId,
      manifest,
      heartbeatTimeoutMs,
      stepNode: head,
      consecutiveFailures: { ...consecutiveFailures },
      agents: new AgentCalls({
        depth: this.#input.agent?.depth ?? 0,
        catalogue: this.#input.agent?.catalogue ?? manifest.hash,
        ...(this.#input.model === undefined ? {} : { model: this.#input.model }),
        budget: this.#state,
        ...(this.#resumed?.calls && this.#input.resume ? { resume: this.#input.resume } : {}),
      }),
      ...(this.#step ? { repeats: this.#step.repeats } : {}),
    };
  }

  /** `resumed`: the step that these outcomes complete, where others of its calls had theirs before. */
  record(outcomes: Outcome[], resumed?: ResumedStep): void {
    this.#state.answered = resumed?.answered(outcomes) ?? outcomes.map(answeredCall);
    this.#resumed = undefined;
    this.#state.counters.failures += outcomes.filter(
      (outcome) => isFailed(outcome) && !this.#paidFor(outcome.key)?.failed,
    ).length;
    if (!resumed) delete this.#state.paid;
    for (const outcome of outcomes) Object.assign(this.#state, countOutcome(this.#state, outcome));
    if (this.#step) Object.assign(this.#state, this.#step.observe(outcomes));
    this.#step = undefined;
    const classes = outcomes.filter(isFailed).map((outcome) => outcome.failure.class);
    const tools = outcomes.map((outcome) => outcome.tool);
    this.#panel.stepEnded(this.#state, tools, classes);
  }

  /** The run's end, where a step's outcomes demand one. */
  endAfter(outcomes: Outcome[]): AgentRunResult | undefined {
    const refusedByGuard = outcomes.some(
      (outcome) => isFailed(outcome) && outcome.failure.class === 'security_violation',
    );
    return refusedByGuard ? this.end('security_violation') : undefined;
  }

  throwIfCancelled(): void {
    if (CancellationScope.current().consideredCancelled) throw cancelled('the run was cancelled');
  }

  carry(): CarriedRun {
    return this.#state;
  }

  end(reason: TerminationReason, answer = ''): AgentRunResult {
    return {
      status: statusOf(reason),
      answer,
      termination: { reason, summary: summaryOf(reason, this.#state.limits) },
      counters: { ...this.#state.counters },
    };
  }

  /** An end with the words of the turn that this execution was given last. */
  endWith(reason: TerminationReason, words: string): AgentRunResult {
    this.#spoken = this.end(reason, words);
    return this.#spoken;
  }

  /**
   * Writes the run's end into its root, so that it is shown without its history. Only an end that holds a turn's words says
   * where the conversation ends. Any other may know less than the store: a turn may have been stored whose answer never came
   * here, and of empty turns the state takes no note.
   */
  async close(result: AgentRunResult): Promise<void> {
    await bookkeeping.finishRun({
      runKey: this.#runKey,
      storeId: this.#state.storeId,
      result,
      ...(result === this.#spoken ? { head: this.#state.head } : {}),
      answered: this.#state.answered,
    });
    this.#panel.statusChanged(result.status);
    this.#panel.show(this.#state, result.termination.summary);
  }

  #paidFor(key: string): PaidCall | undefined {
    return this.#state.paid?.find((paid) => paid.key === key);
  }

  #modelFailed(failure: Failure): AgentRunResult {
    const result = this.end('model_failed');
    return {
      ...result,
      termination: { reason: 'model_failed', summary: `the model could not answer: ${failure.message}` },
    };
  }

  #charge(turn: CallModelResult): void {
    const { counters } = this.#state;
    counters.inputTokens += turn.usage.inputTokens;
    counters.outputTokens += turn.usage.outputTokens;
    counters.costUsd += turn.usage.costUsd;
  }
}
