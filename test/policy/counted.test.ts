import { expect, it } from 'vitest';
import { counted } from '../../src/policy/counted.js';

it.each([
  [0, '0 tools'],
  [1, '1 tool'],
  [2, '2 tools'],
  [12_345, '12,345 tools'],
])('counts %i in a sentence', (count, words) => {
  expect(counted(count, 'tool')).toBe(words);
});

it('takes the plural that it is told', () => {
  expect([1, 2].map((count) => counted(count, 'body', 'bodies'))).toEqual(['1 body', '2 bodies']);
});
