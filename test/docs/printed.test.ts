import { expect, it } from 'vitest';
import { firstMissing } from './printed.js';

const output = 'run-4kx9mz  completed after 1.2 s\n  ✓ c1.0  look {"id":"7"}  12 ms\nSeen (all).';

it.each([
  ['run-aaaaaa completed after 3 ms'],
  ['✓ c1.0 look …'],
  ['…\n✓ c1.0  look {"id":"7"}  900 ms\n…\nSeen (all).'],
  [''],
])('accepts %j', (expected) => {
  expect(firstMissing(output, expected)).toBeUndefined();
});

it.each([
  ['run-aaaaaa failed after 3 ms', 'run-aaaaaa failed after 3 ms'],
  ['Seen (all).\n✓ c1.0 look …', '✓ c1.0 look …'],
  ['Seen .all..', 'Seen .all..'],
  ['c1.0 look …', 'c1.0 look …'],
])('refuses %j', (expected, missing) => {
  expect(firstMissing(output, expected)).toBe(missing);
});
