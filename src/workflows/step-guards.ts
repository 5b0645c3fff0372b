import type { CallToolInput } from '../contract/activities.js';
import type { Outcome, PreparedCall, ToolCall } from '../contract/call.js';
import type { Effect } from '../contract/effect.js';
import type { FuseState, LoopPolicy, LoopState, ProgressState } from '../contract/guard-state.js';
import type { Json } from '../contract/json.js';
import type { ManifestSummary } from '../contract/manifest.js';
import { foldedDigest } from '../policy/fold-arguments.js';
import { blownFuse, observeForFuse } from '../policy/fuse.js';
import { digestOf } from '../policy/idempotency-key.js';
import { admitCall, loopLimitsOf, observeCall, observeRefusal } from '../policy/loop-defence.js';
import { observeProgress } from '../policy/progress.js';
import {
  admitAnswer,
  longAnswerBytes,
  observeAnswerRefusal,
  observeAnswers,
  weightOfFailure,
  argumentWords,
} from '../policy/same-answers.js';
import type { AnswerRound, AnswerVerdict } from '../policy/same-answers.js';
import { resultDigest } from '../policy/result-digest.js';
import { isFailed } from './execute-calls.js';
import { refuse } from './refuse-call.js';

interface GuardState {
  loop: LoopState;
  loopPolicy: LoopPolicy;
  fuse: FuseState;
  progress?: ProgressState;
  manifest: ManifestSummary;
}

interface GuardedCall {
  digest: string;
  tool: string;
  effect: Effect['kind'];
  polling: boolean;
  /** Name under which its answers are counted: all names that no tool has are one. */
  answersAs: string;
  /** Its failures are its output. */
  verbatim: boolean;
  args: Json | undefined;
}

/**
 * Loop defence and fuse over the calls of one step: `admit` each call in the model's order, then `observe` how they
 * ended. Calls of one step start side by side, so what the step itself repeats is counted before any result is known.
 */
export class StepGuards {
  readonly #state: GuardState;
  readonly #nowMs: number;
  readonly #calls = new Map<string, GuardedCall>();
  readonly #repeats = new Map<string, NonNullable<CallToolInput['repeatOf']>>();
  readonly #refused: GuardedCall[] = [];
  readonly #refusedForAnswer = new Set<string>();

  constructor(state: GuardState, nowMs: number) {
    this.#state = state;
    this.#nowMs = nowMs;
  }

  /** Calls that run although they repeat an earlier one, by call id: the model is told. */
  get repeats(): ReadonlyMap<string, NonNullable<CallToolInput['repeatOf']>> {
    return this.#repeats;
  }

  /** The call as it came, or answered by the guard that refuses it. */
  admit(prepared: PreparedCall): PreparedCall {
    const call = this.#guarded(prepared);
    const { callId } = prepared.status === 'ready' ? prepared.call : prepared;
    const pendingEqual = [...this.#calls.values()].filter(({ digest }) => digest === call.digest).length;
    const verdict = admitCall(this.#state.loop, { ...call, pendingEqual }, loopLimitsOf(this.#state.loopPolicy));
    if (verdict.type === 'refuse') {
      this.#refused.push(call);
      // A call that could not run anyway keeps its own answer, which says what is wrong with it.
      if (prepared.status === 'answered') return prepared;
      return answer(prepared.call, refuse(prepared.call, 'repeated_call_blocked', repeatReason(verdict.times)));
    }
    const byAnswer = this.#admitAnswer(call);
    if (byAnswer.type === 'refuse') {
      this.#refused.push(call);
      this.#refusedForAnswer.add(call.answersAs);
      if (prepared.status === 'answered') return prepared;
      return answer(prepared.call, refuse(prepared.call, 'repeated_call_blocked', sameAnswerReason(byAnswer.rounds)));
    }
    if (prepared.status === 'ready') {
      const failures = blownFuse(this.#state.fuse, call.tool, this.#nowMs);
      if (failures !== undefined) {
        // A tool that is switched off and asked for again and again is a loop, whatever the arguments.
        this.#refused.push(call);
        const reason = `it failed ${failures} times in a row`;
        return answer(prepared.call, refuse(prepared.call, 'tool_temporarily_disabled', reason));
      }
      if (verdict.type === 'hint') this.#repeats.set(callId, { key: verdict.earlierKey, times: verdict.times });
      else if (byAnswer.type === 'hint') {
        this.#repeats.set(callId, { key: byAnswer.earlierKey, times: byAnswer.rounds, otherArguments: true });
      }
    }
    this.#calls.set(callId, call);
    return prepared;
  }

  #admitAnswer(call: GuardedCall): AnswerVerdict {
    const { equalAnswers } = this.#state.loopPolicy;
    if (call.polling || typeof equalAnswers !== 'number') return { type: 'run' };
    const words = () => (call.args === undefined ? undefined : argumentWords([call.args]));
    return admitAnswer(this.#state.loop, { tool: call.answersAs, words }, equalAnswers);
  }

  /** The guards' state after the step. */
  observe(outcomes: Outcome[]): Pick<GuardState, 'loop' | 'fuse' | 'progress'> {
    let { loop, fuse } = this.#state;
    // The calls of one step were asked for together, before the model could read any refusal: they count as one.
    const refused = new Map(this.#refused.map((call) => [call.digest, call]));
    for (const call of refused.values()) loop = observeRefusal(loop, call);
    loop = { ...loop, refusals: Math.min(loop.refusals, this.#state.loop.refusals + 1) };
    for (const tool of this.#refusedForAnswer) loop = observeAnswerRefusal(loop, tool);
    const rounds = typeof this.#state.loopPolicy.equalAnswers === 'number' ? this.#answerRounds(outcomes) : [];
    for (const outcome of outcomes) {
      const call = this.#calls.get(outcome.callId);
      // What no body ran for says nothing about the tool; a cancelled or skipped call is no repetition either.
      if (!call || outcome.refusedByWorkflow) continue;
      const failureClass = isFailed(outcome) ? outcome.failure.class : undefined;
      if (!isOutput(call, outcome)) {
        const { tool } = outcome;
        fuse = observeForFuse(fuse, { tool, ...(failureClass === undefined ? {} : { failureClass }) }, this.#nowMs);
      }
      if (call.polling) continue;
      loop = observeCall(loop, {
        ...call,
        key: outcome.key,
        result: resultDigest(outcome),
        succeeded: failureClass === undefined,
      });
    }
    for (const round of rounds) loop = observeAnswers(loop, round);
    const progress = this.#progress(outcomes);
    return { loop, fuse, ...(progress ? { progress } : {}) };
  }

  #progress(outcomes: Outcome[]): ProgressState | undefined {
    const measured = outcomes.filter((outcome) => outcome.progress !== undefined);
    if (measured.length === 0) return this.#state.progress;
    const tools = [...new Set(measured.map(({ tool }) => tool))];
    return tools.reduce<ProgressState>((state, name) => {
      const measures = measured.flatMap(({ tool, progress }) =>
        tool === name && progress !== undefined ? progress : [],
      );
      return observeProgress(state, name, measures);
    }, this.#state.progress ?? {});
  }

  /** The step's calls by tool, as far as they were run or could not be. */
  #answerRounds(outcomes: Outcome[]): AnswerRound[] {
    const byTool = new Map<string, { call: GuardedCall; outcome: Outcome }[]>();
    for (const outcome of outcomes) {
      const call = this.#calls.get(outcome.callId);
      if (!call || call.polling || outcome.refusedByWorkflow) continue;
      byTool.set(call.answersAs, [...(byTool.get(call.answersAs) ?? []), { call, outcome }]);
    }
    return [...byTool].map(([tool, ended]) => ({
      tool,
      answers: ended.map(({ call, outcome }) => answerOf(call, outcome)),
      hadEffect: ended.some(({ call, outcome }) => call.effect !== 'read' && !isFailed(outcome)),
      words: argumentWords(ended.map(({ call }) => call.args ?? null)),
      key: ended[0]?.outcome.key ?? '',
    }));
  }

  #guarded(prepared: PreparedCall): GuardedCall {
    const name = prepared.status === 'ready' ? prepared.call.tool : prepared.outcome.tool;
    const tool = this.#state.manifest.tools.find((candidate) => candidate.name === name);
    return {
      // The digest of a call that could not run is that of its arguments alone: two tools may be given the same ones.
      digest: prepared.status === 'ready' ? this.#folded(prepared) : digestOf([name, prepared.digest]).slice(0, 16),
      tool: name,
      // What could not run has no effect.
      effect: prepared.status === 'ready' ? (tool?.effect ?? 'once') : 'read',
      polling: tool?.polling ?? false,
      answersAs: tool ? name : '',
      verbatim: tool?.verbatim ?? false,
      args:
        prepared.status === 'ready' && 'inline' in prepared.call.arguments ? prepared.call.arguments.inline : undefined,
    };
  }

  /** Runs that were started before the rules for it were there keep comparing as they did. */
  #folded({ call, folded }: PreparedCall & { status: 'ready' }): string {
    return this.#state.loopPolicy.equalAnswers === undefined ? foldedCall(call) : (folded ?? foldedCall(call));
  }
}

/** A call answered without running, in the place of the one that was asked for. */
export function answer(call: ToolCall, outcome: Outcome): PreparedCall {
  return { status: 'answered', callId: call.callId, digest: call.digest, outcome };
}

// Arguments too large to stand in the history are compared as they are.
function foldedCall(call: ToolCall): string {
  return 'inline' in call.arguments ? foldedDigest(call.tool, call.arguments.inline) : call.digest;
}

/** A test runner that finds failing tests is not broken: what it says is its answer. */
function isOutput({ verbatim }: GuardedCall, outcome: Outcome): boolean {
  return verbatim && isFailed(outcome) && outcome.failure.class === 'tool_error';
}

function answerOf(call: GuardedCall, outcome: Outcome): AnswerRound['answers'][number] {
  if (isFailed(outcome)) {
    const { failure } = outcome;
    if (!isOutput(call, outcome)) return { digest: 'failed', weight: weightOfFailure(failure.class) };
    return { digest: digestOf(failure.message), weight: weightOf(failure.message.length) };
  }
  if (outcome.status === 'pending') return { digest: 'pending', weight: 'short' };
  const { result } = outcome;
  const bytes = 'inline' in result ? JSON.stringify(result.inline).length : result.bytes;
  return { digest: resultDigest(outcome), weight: weightOf(bytes) };
}

function weightOf(bytes: number): AnswerRound['answers'][number]['weight'] {
  return bytes >= longAnswerBytes ? 'long' : 'short';
}

function repeatReason(times: number): string {
  return `it was made ${times} times with the same result`;
}

function sameAnswerReason(rounds: number): string {
  return `${rounds} times in a row the answer was the same, whatever was asked`;
}
