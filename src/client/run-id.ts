import { PerdureError } from './perdure-error.js';

/** Without vowels and look-alikes (0/o, 1/l): easy to read aloud, and no words appear by chance. */
const ID_ALPHABET = '23456789bcdfghjkmnpqrstvwxz';
const ID_LENGTH = 6;
const MAX_ID_CHARACTERS = 200;

/** A short readable workflow id, `run-` and six characters (3.9e8 possibilities). `random` gives numbers in [0, 1). */
export function makeRunId(random: () => number): string {
  const pick = (): string => ID_ALPHABET.charAt(Math.floor(random() * ID_ALPHABET.length));
  return `run-${Array.from({ length: ID_LENGTH }, pick).join('')}`;
}

/** Returns the id unchanged, or throws a `PerdureError` (`usage`) that says what a run's id may look like. */
export function checkRunId(id: string): string {
  const plain = /^[\p{L}\p{N}][\p{L}\p{N}._:@/-]*$/u.test(id);
  if (plain && id.length <= MAX_ID_CHARACTERS) return id;
  throw new PerdureError('usage', `${JSON.stringify(id)} cannot be the id of a run.`, {
    next: `Use letters, digits and . _ : @ / - (at most ${MAX_ID_CHARACTERS} characters, a letter or digit first).`,
  });
}
