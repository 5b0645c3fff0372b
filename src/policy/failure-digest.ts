import type { Outcome } from '../contract/call.js';
import type { Failure } from '../contract/failure.js';
import { cutToChars } from './cut-text.js';
import { plural } from './plain-words.js';

/** Of a message, the digest keeps its first words; the whole is in the transcript. */
const MESSAGE_CHARS = 240;

interface KnownFailure {
  tool: string;
  failure: Failure;
  callIds: string[];
  lastIndex: number;
}

/**
 * All failures so far in a few lines, for wherever a context is shortened: made by rule, so that none is forgotten. Equal
 * failures of a tool share a line; what may have happened is marked, and so is what worked later. `''` where nothing failed.
 * Takes the outcomes in the order of the calls.
 */
export function failureDigest(outcomes: readonly Outcome[]): string {
  const known = new Map<string, KnownFailure>();
  const lastSuccess = new Map<string, number>();
  outcomes.forEach((outcome, index) => {
    if (outcome.status === 'succeeded' || outcome.status === 'partial') lastSuccess.set(outcome.tool, index);
    if (outcome.status !== 'failed' && outcome.status !== 'aborted') return;
    const { tool, failure, callId } = outcome;
    const signature = JSON.stringify([tool, failure.class, failure.code, failure.message, failure.effectState]);
    const before = known.get(signature);
    known.set(signature, { tool, failure, callIds: [...(before?.callIds ?? []), callId], lastIndex: index });
  });
  if (known.size === 0) return '';
  const failed = [...known.values()];
  const count = failed.reduce((sum, { callIds }) => sum + callIds.length, 0);
  const lines = failed.map((each) => line(each, (lastSuccess.get(each.tool) ?? -1) > each.lastIndex));
  return [`What failed so far (${plural(count, 'call')}):`, ...lines].join('\n');
}

function line({ tool, failure, callIds }: KnownFailure, workedLater: boolean): string {
  const first = callIds[0] ?? '';
  const where = callIds.length === 1 ? first : `${spokenFailures(callIds.length)}, ${first} to ${callIds.at(-1) ?? ''}`;
  const message = cutToChars(failure.message.replace(/\s+/g, ' '), MESSAGE_CHARS).replace(/\s+/g, ' ');
  const notes = [
    failure.effectState === 'unknown' ? 'It may have taken effect: check before repeating it.' : '',
    failure.effectState === 'done' ? 'It did take effect: do not repeat it.' : '',
    workedLater ? 'A later call of this tool worked.' : '',
  ].filter((note) => note !== '');
  return [`- ${tool} (${where}, ${failure.class}): ${message}`, ...notes].join(' ');
}

/** `once`, `twice`, `3 times`. */
export function spokenFailures(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${String(count)} times`;
}
