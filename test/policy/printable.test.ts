import { expect, test } from 'vitest';
import { printable } from '../../src/policy/printable.js';

test('control characters, terminal colours and lone surrogates go; tabs and newlines stay', () => {
  expect(printable('\u001b[1;31mred\u001b[0m\t\u0000x\r\ny\u001b]8;;http://a\u0007link\u001b]8;;\u0007 \ud800!')).toBe(
    'red\t x\nylink \ufffd!',
  );
});
