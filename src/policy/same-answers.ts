/**
 * Stops a model that asks one tool in ever new words and is given one and the same answer. A reducer over one run's model
 * turns: the calls of one turn were asked for together, before any answer could be read, so they count as one round.
 *
 * A fair rule must not end a run that checks five hundred links of which all are fine. So what counts is how much an equal
 * answer says: a long one, equal to the last byte whatever was asked, says that the arguments do not matter; a short one
 * (`{"status":"up"}`) says nothing of the kind, unless the arguments only grow or shrink. Failures are bounded more widely,
 * and answers in between, effects included, start the count anew.
 */
import type { FailureClass } from '../contract/failure.js';
import type { AnswerStreak, LoopState } from '../contract/guard-state.js';
import type { Json } from '../contract/json.js';
import { foldedWordDigests } from './fold-arguments.js';

/** How much an answer that is given again says about the arguments. */
export type AnswerWeight = AnswerStreak['weight'];

/**
 * From this many bytes of JSON on two answers are not equal by chance: a status, a count or an empty page is shorter, a page
 * of a list is longer.
 */
export const longAnswerBytes = 256;

/**
 * Rounds by weight, as multiples of `equalAnswers`; the next one is refused. A model may need several tries to get its
 * arguments right, and more of them to find something that may not be there.
 */
const roundsByWeight: Record<AnswerWeight, number> = { long: 1, failure: 2, refusal: 4, short: Infinity };

/** The backend's word on these very arguments, like a short answer; any other failure says that something is wrong. */
const refusals: readonly FailureClass[] = ['not_found', 'business_rule_violation'];

export function weightOfFailure(failureClass: FailureClass): AnswerWeight {
  return refusals.includes(failureClass) ? 'refusal' : 'failure';
}

/** Tools that the state remembers at once: a model may make up any number of names. */
const maxTools = 64;
/** Words of one round's arguments that are compared; longer arguments are taken for new ones. */
const maxWords = 32;

/** One model turn's calls of one tool, and how they ended. */
export interface AnswerRound {
  tool: string;
  /** Digests of the answers; a failure's are its weight alone, since its words change with the arguments. */
  answers: { digest: string; weight: AnswerWeight }[];
  /** A call of the round had an effect: that is progress, whatever it answered. */
  hadEffect: boolean;
  /** Words of the round's arguments, as `argumentWords` gives them. */
  words: string[] | undefined;
  /** Idempotency key of the round's first call, whose result is quoted. */
  key: string;
}

export type AnswerVerdict =
  | { type: 'run' }
  /** Runs; where its answer is the same again, the model is told. */
  | { type: 'hint'; rounds: number; earlierKey: string }
  | { type: 'refuse'; rounds: number };

/** Whether a call of the tool may run. `equalAnswers` is the run's pinned policy; without one everything may. */
export function admitAnswer(
  state: LoopState,
  call: { tool: string; words: () => string[] | undefined },
  equalAnswers: number | null | undefined,
): AnswerVerdict {
  const streak = currentStreak(state, call.tool);
  if (!streak || typeof equalAnswers !== 'number') return { type: 'run' };
  const { rounds, nearRounds, weight, refusedAt, key } = streak;
  const isNear = nearRounds >= equalAnswers && onlyGrowOrShrink(streak.words, call.words());
  const isOver = isNear || rounds >= equalAnswers * roundsByWeight[weight];
  // The round after a refusal may show that the answer can be another one: without it a tool could never clear itself.
  if (isOver && refusedAt !== rounds) return { type: 'refuse', rounds };
  const isSuccess = weight === 'long' || weight === 'short';
  return isSuccess && isTold(rounds + 1, equalAnswers) ? { type: 'hint', rounds, earlierKey: key } : { type: 'run' };
}

/** At `equalAnswers` rounds, twice as many, four times as many, …: a long honest row is not told at each of its calls. */
function isTold(round: number, equalAnswers: number): boolean {
  const ratio = Math.log2(round / equalAnswers);
  return ratio >= 0 && Number.isInteger(ratio);
}

/** The state once a round's calls of a tool were refused. */
export function observeAnswerRefusal(state: LoopState, tool: string): LoopState {
  const streak = currentStreak(state, tool);
  if (!streak) return state;
  return remember(state, tool, { ...streak, refusals: streak.refusals + 1, refusedAt: streak.rounds });
}

/** The state once a round's calls of a tool have ended. */
export function observeAnswers(state: LoopState, round: AnswerRound): LoopState {
  const [first, ...others] = round.answers;
  if (!first) return state;
  if (round.hadEffect || others.some(({ digest }) => digest !== first.digest)) return forget(state, round.tool);
  const before = currentStreak(state, round.tool);
  const effectsOfOthers = othersEffects(state, round.tool);
  const words = round.words ?? [];
  if (before?.answer !== first.digest) {
    return remember(state, round.tool, {
      answer: first.digest,
      weight: first.weight,
      rounds: 1,
      nearRounds: 1,
      words,
      othersEffects: effectsOfOthers,
      refusals: 0,
      key: round.key,
    });
  }
  const isNear = onlyGrowOrShrink(before.words, round.words);
  return remember(state, round.tool, {
    ...before,
    // Failures of two kinds in one row: the wider bound holds.
    weight: first.weight === 'refusal' ? 'refusal' : before.weight,
    rounds: before.rounds + 1,
    nearRounds: isNear ? before.nearRounds + 1 : 1,
    words,
  });
}

/** Most refusals of one tool's row. */
export function answerRefusals(state: LoopState): number {
  return Math.max(0, ...Object.values(state.answers ?? {}).map(({ refusals: times }) => times));
}

/** What `nearRounds` compares; `undefined` where there is too much to compare, or nothing. */
export function argumentWords(args: readonly Json[]): string[] | undefined {
  const words = foldedWordDigests(args);
  return words.length === 0 || words.length > maxWords ? undefined : words;
}

/** A nonce, a filter or a word more or less is nearly the same question; another identifier is another one. */
function onlyGrowOrShrink(before: readonly string[], now: readonly string[] | undefined): boolean {
  if (now === undefined || before.length === 0) return false;
  return now.every((word) => before.includes(word)) || before.every((word) => now.includes(word));
}

function currentStreak(state: LoopState, tool: string): AnswerStreak | undefined {
  const streak = ownOf(state.answers ?? {}, tool);
  return streak?.othersEffects === othersEffects(state, tool) ? streak : undefined;
}

function othersEffects(state: LoopState, tool: string): number {
  return state.effects - (ownOf(state.effectsByTool, tool) ?? 0);
}

function remember(state: LoopState, tool: string, streak: AnswerStreak): LoopState {
  const others = Object.entries(state.answers ?? {}).filter(([name]) => name !== tool);
  return { ...state, answers: Object.fromEntries([...others.slice(1 - maxTools), [tool, streak]]) };
}

function forget(state: LoopState, tool: string): LoopState {
  if (!state.answers || !Object.hasOwn(state.answers, tool)) return state;
  return { ...state, answers: Object.fromEntries(Object.entries(state.answers).filter(([name]) => name !== tool)) };
}

// A tool may be called `constructor`.
function ownOf<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
