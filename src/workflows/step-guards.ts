import type { CallToolInput } from '../contract/activities.js';
import type { Outcome, PreparedCall, ToolCall } from '../contract/call.js';
import type { Effect } from '../contract/effect.js';
import type { FuseState, LoopPolicy, LoopState } from '../contract/guard-state.js';
import type { ManifestSummary } from '../contract/manifest.js';
import { foldedDigest } from '../policy/fold-arguments.js';
import { blownFuse, observeForFuse } from '../policy/fuse.js';
import { digestOf } from '../policy/idempotency-key.js';
import { admitCall, loopLimitsOf, observeCall, observeRefusal } from '../policy/loop-defence.js';
import { resultDigest } from '../policy/result-digest.js';
import { isFailed } from './execute-calls.js';
import { refuse } from './refuse-call.js';

interface GuardState {
  loop: LoopState;
  loopPolicy: LoopPolicy;
  fuse: FuseState;
  manifest: ManifestSummary;
}

interface GuardedCall {
  digest: string;
  tool: string;
  effect: Effect['kind'];
  polling: boolean;
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
    if (prepared.status === 'ready') {
      const failures = blownFuse(this.#state.fuse, call.tool, this.#nowMs);
      if (failures !== undefined) {
        // A tool that is switched off and asked for again and again is a loop, whatever the arguments.
        this.#refused.push(call);
        const reason = `it failed ${failures} times in a row`;
        return answer(prepared.call, refuse(prepared.call, 'tool_temporarily_disabled', reason));
      }
      if (verdict.type === 'hint') this.#repeats.set(callId, { key: verdict.earlierKey, times: verdict.times });
    }
    this.#calls.set(callId, call);
    return prepared;
  }

  /** The guards' state after the step. */
  observe(outcomes: Outcome[]): { loop: LoopState; fuse: FuseState } {
    let { loop, fuse } = this.#state;
    // The calls of one step were asked for together, before the model could read any refusal: they count as one.
    const refused = new Map(this.#refused.map((call) => [call.digest, call]));
    for (const call of refused.values()) loop = observeRefusal(loop, call);
    loop = { ...loop, refusals: Math.min(loop.refusals, this.#state.loop.refusals + 1) };
    for (const outcome of outcomes) {
      const call = this.#calls.get(outcome.callId);
      // What no body ran for says nothing about the tool; a cancelled or skipped call is no repetition either.
      if (!call || outcome.refusedByWorkflow) continue;
      const failureClass = isFailed(outcome) ? outcome.failure.class : undefined;
      fuse = observeForFuse(
        fuse,
        { tool: outcome.tool, ...(failureClass === undefined ? {} : { failureClass }) },
        this.#nowMs,
      );
      if (call.polling) continue;
      loop = observeCall(loop, {
        ...call,
        key: outcome.key,
        result: resultDigest(outcome),
        succeeded: failureClass === undefined,
      });
    }
    return { loop, fuse };
  }

  #guarded(prepared: PreparedCall): GuardedCall {
    const name = prepared.status === 'ready' ? prepared.call.tool : prepared.outcome.tool;
    const tool = this.#state.manifest.tools.find((candidate) => candidate.name === name);
    return {
      // The digest of a call that could not run is that of its arguments alone: two tools may be given the same ones.
      digest: prepared.status === 'ready' ? foldedCall(prepared.call) : digestOf([name, prepared.digest]).slice(0, 16),
      tool: name,
      // What could not run has no effect.
      effect: prepared.status === 'ready' ? (tool?.effect ?? 'once') : 'read',
      polling: tool?.polling ?? false,
    };
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

function repeatReason(times: number): string {
  return `it was made ${times} times`;
}
