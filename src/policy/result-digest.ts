import type { Outcome } from '../contract/call.js';
import type { Failure } from '../contract/failure.js';
import type { Json } from '../contract/json.js';
import { foldedResultDigest, foldedWords } from './fold-arguments.js';

/** How an outcome ended as loop defence compares it: equal results, and equal failures, have equal digests. */
export function resultDigest(outcome: Outcome): string {
  return ('resultDigest' in outcome ? outcome.resultDigest : undefined) ?? foldedResultDigest(saidBy(outcome));
}

/** JSON up to this length is digested by the workflow in less time than a digest on the way would cost. */
const digestedBeforehand = 256;

/**
 * The outcome with its digest made beforehand, where the result is long: hashing 2 KB in the workflow's sandbox took 0.5 ms
 * of every step, a tenth of the time that a step has there.
 */
export function withResultDigest(outcome: Outcome): Outcome {
  if (!('result' in outcome) || !('inline' in outcome.result)) return outcome;
  if (JSON.stringify(outcome.result.inline).length <= digestedBeforehand) return outcome;
  return { ...outcome, resultDigest: resultDigest(outcome) };
}

function saidBy(outcome: Outcome): Json {
  if ('failure' in outcome) return wordsOf(outcome.failure);
  if (!('result' in outcome)) return outcome.status;
  return 'inline' in outcome.result ? outcome.result.inline : outcome.result.bodyId;
}

/** A compiler's or test runner's output is compared whole: there a number that changed is news. */
function wordsOf({ class: failureClass, code, kind, message }: Failure): Json {
  return [failureClass, code, kind === undefined ? foldedWords(message) : message];
}
