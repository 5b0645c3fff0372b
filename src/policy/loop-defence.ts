/**
 * Stops a model that repeats itself. A reducer over one run's calls: `admitCall` is asked before a call is scheduled,
 * `observeCall` is told how it ended. The state is JSON of bounded size and survives continue-as-new.
 *
 * Two equal calls with equal results run, the second one with a hint; the third is refused unexecuted. A changed result,
 * or another tool's effect in between, starts the count anew. Cycles (A-B-A-B) are found by their results as well, so
 * that tools with effects cannot hide them from each other, and so are rounds in no order at all: calls that bring nothing new.
 */
import type { Effect } from '../contract/effect.js';
import type { LoopPolicy, LoopState, SeenCall } from '../contract/guard-state.js';
import { answerRefusals } from './same-answers.js';

export interface LoopLimits {
  /** Equal calls with equal results that run; the next one is refused. */
  equalCalls: number;
  /** Refusals of the same call, or of one tool's calls for their answer, that end the run. */
  refusalsOfOneCall: number;
  /** Refusals since the last effect that end the run. */
  refusals: number;
  /** Full repetitions of a cycle that run; the next one is refused. */
  cycles: number;
  /** Calls in a row, in whatever order, that each repeat a call and a result of shortly before; the next one is refused. */
  staleCalls: number;
}

/** Longest cycle that is looked for, in calls. */
const longestCycle = 6;
/** The most rounds of a cycle that any policy allows: as many as the remembered calls show. */
const mostCycles = 4;
/** Calls that the state remembers: enough for the longest cycle, and for repeats with work in between. */
const maxSeen = 64;

/** From the field cases L01: the second call may be an honest check, the third is a loop. */
export const loopLimits = {
  equalCalls: 2,
  refusalsOfOneCall: 2,
  refusals: 5,
  cycles: 2,
  staleCalls: 2 * longestCycle,
} as const satisfies LoopLimits;

/** The limits of a run that pinned this policy. */
export function loopLimitsOf({ equalCalls, equalAnswers }: LoopPolicy): LoopLimits {
  const cycles = Math.min(mostCycles, Math.max(loopLimits.cycles, equalCalls));
  // A run that was started before the rule was there has decided without it, and is replayed without it.
  const staleCalls = equalAnswers === undefined ? Infinity : cycles * longestCycle;
  return { ...loopLimits, equalCalls, cycles, staleCalls };
}

export const noLoop: LoopState = { seen: [], tail: [], effects: 0, effectsByTool: {}, refusals: 0 };

export interface LoopCall {
  /** `foldedDigest` of the call. */
  digest: string;
  tool: string;
  /** Equal calls earlier in the same step, whose results are not known yet. */
  pendingEqual: number;
  /** Repeating is this tool's purpose. */
  polling: boolean;
}

export type LoopVerdict =
  | { type: 'run' }
  /** Runs, but the model is told that it has made this call before. */
  | { type: 'hint'; times: number; earlierKey: string }
  | { type: 'refuse'; times: number; earlierKey: string | undefined };

/** Whether a call may run. Pure; the state is changed by `observeRefusal` and `observeCall`. */
export function admitCall(state: LoopState, call: LoopCall, limits: LoopLimits = loopLimits): LoopVerdict {
  if (call.polling) return { type: 'run' };
  const seen = current(state, call);
  const times = (seen?.times ?? 0) + call.pendingEqual;
  if (times >= limits.equalCalls) return { type: 'refuse', times, earlierKey: seen?.key };
  if (continuesCycle(state.tail, call.digest, limits.cycles)) {
    return { type: 'refuse', times: limits.cycles, earlierKey: seen?.key };
  }
  if ((state.stale ?? 0) >= limits.staleCalls && state.tail.some(({ digest }) => digest === call.digest)) {
    return { type: 'refuse', times: Math.max(1, times), earlierKey: seen?.key };
  }
  return seen && times > 0 ? { type: 'hint', times, earlierKey: seen.key } : { type: 'run' };
}

/** Whether the model went on after it was refused, so that the run ends (`onExhausted: 'stop'`). */
export function isStuck(state: LoopState, limits: LoopLimits = loopLimits): boolean {
  const most = Math.max(answerRefusals(state), ...state.seen.map(({ refusals }) => refusals));
  return state.refusals >= limits.refusals || most >= limits.refusalsOfOneCall;
}

export function observeRefusal(state: LoopState, call: Pick<LoopCall, 'digest' | 'tool'>): LoopState {
  const earlier = state.seen.find(({ digest }) => digest === call.digest);
  const seen: SeenCall = earlier ?? {
    digest: call.digest,
    tool: call.tool,
    times: 0,
    result: '',
    othersEffects: othersEffects(state, call.tool),
    refusals: 0,
    key: '',
  };
  return remember({ ...state, refusals: state.refusals + 1 }, { ...seen, refusals: seen.refusals + 1 });
}

/** Tells the state how a call that ran has ended. `result` is a digest: equal results have equal digests. */
export function observeCall(
  state: LoopState,
  call: { digest: string; tool: string; key: string; result: string; effect: Effect['kind']; succeeded: boolean },
): LoopState {
  const earlier = current(state, call);
  const repeats = earlier !== undefined && earlier.result === call.result;
  const seen: SeenCall = {
    digest: call.digest,
    tool: call.tool,
    times: repeats ? earlier.times + 1 : 1,
    result: call.result,
    othersEffects: othersEffects(state, call.tool),
    refusals: repeats ? earlier.refusals : 0,
    key: repeats ? earlier.key : call.key,
  };
  const isStale = state.tail.some(({ digest, result }) => digest === call.digest && result === call.result);
  const tail = [...state.tail, { digest: call.digest, result: call.result }].slice(-longestCycle * mostCycles);
  const observed = remember({ ...state, tail, stale: isStale ? (state.stale ?? 0) + 1 : 0 }, seen);
  if (call.effect === 'read' || !call.succeeded) return observed;
  return {
    ...observed,
    effects: observed.effects + 1,
    effectsByTool: { ...observed.effectsByTool, [call.tool]: effectsOf(observed, call.tool) + 1 },
    // An effect is progress, unless it is itself a repetition.
    refusals: repeats ? observed.refusals : 0,
  };
}

/** The call's entry while it still says something: another tool's effect since then makes it void. */
function current(state: LoopState, call: { digest: string; tool: string }): SeenCall | undefined {
  const seen = state.seen.find(({ digest }) => digest === call.digest);
  return seen && seen.othersEffects === othersEffects(state, call.tool) ? seen : undefined;
}

function othersEffects(state: LoopState, tool: string): number {
  return state.effects - effectsOf(state, tool);
}

// A tool may be called `constructor`.
function effectsOf(state: LoopState, tool: string): number {
  return Object.hasOwn(state.effectsByTool, tool) ? (state.effectsByTool[tool] ?? 0) : 0;
}

function remember(state: LoopState, call: SeenCall): LoopState {
  const others = state.seen.filter(({ digest }) => digest !== call.digest);
  return { ...state, seen: [...others, call].slice(-maxSeen) };
}

/**
 * Whether the newest calls are `cycles` full equal rounds and the next call is one of them: in which order it comes does
 * not matter, since the calls of one step are asked for side by side.
 */
function continuesCycle(tail: LoopState['tail'], next: string, cycles: number): boolean {
  for (let period = 2; period <= longestCycle; period += 1) {
    const rounds = tail.slice(-period * cycles);
    if (rounds.length < period * cycles) return false;
    const repeats = rounds.every((call, index) => {
      const before = rounds[index - period];
      return before === undefined || (before.digest === call.digest && before.result === call.result);
    });
    if (repeats && rounds.slice(-period).some(({ digest }) => digest === next)) return true;
  }
  return false;
}
