import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { FailureClass } from '../../src/contract/failure.js';
import type { FuseState } from '../../src/contract/guard-state.js';
import { failureClasses } from '../../src/policy/failure-classes.js';
import { blownFuse, fuseLimits, observeForFuse } from '../../src/policy/fuse.js';

const fail = (state: FuseState, nowMs: number, failureClass: FailureClass = 'tool_bug') =>
  observeForFuse(state, { tool: 'search', failureClass }, nowMs);

test('the third failure in a row blows the fuse, of that tool only', () => {
  const two = fail(fail({}, 1), 2);
  expect(blownFuse(two, 'search', 3)).toBeUndefined();
  const three = fail(two, 3);
  expect(blownFuse(three, 'search', 4)).toBe(3);
  expect(blownFuse(three, 'print', 4)).toBeUndefined();
});

test('a success in between resets it', () => {
  const state = fail(observeForFuse(fail(fail({}, 1), 2), { tool: 'search' }, 3), 4);
  expect(blownFuse(state, 'search', 5)).toBeUndefined();
  expect(state['search']?.failures).toBe(1);
});

test('the window resets it: failures that are older say nothing about now', () => {
  const blown = fail(fail(fail({}, 0), 0), 0);
  expect(blownFuse(blown, 'search', fuseLimits.windowMs)).toBe(3);
  expect(blownFuse(blown, 'search', fuseLimits.windowMs + 1)).toBeUndefined();
  expect(fail(blown, fuseLimits.windowMs + 1)['search']?.failures).toBe(1);
});

test('classes count exactly where the failure table says so', () => {
  for (const failureClass of Object.keys(failureClasses) as FailureClass[]) {
    const blown = blownFuse(fail(fail(fail({}, 1, failureClass), 2, failureClass), 3, failureClass), 'search', 4);
    expect([failureClass, blown !== undefined]).toEqual([
      failureClass,
      failureClasses[failureClass].breaker !== undefined,
    ]);
  }
});

test('any tool name is only a name', () => {
  for (const tool of ['__proto__', 'constructor', 'toString']) {
    let state: FuseState = {};
    expect(blownFuse(state, tool, 1)).toBeUndefined();
    for (let n = 0; n < 3; n += 1) state = observeForFuse(state, { tool, failureClass: 'tool_bug' }, n);
    expect(blownFuse(state, tool, 3)).toBe(3);
    expect(blownFuse(JSON.parse(JSON.stringify(state)) as FuseState, tool, 3)).toBe(3);
  }
});

test('a fuse is blown exactly by three counting failures since the last success', () => {
  const ends = fc.array(fc.constantFrom('ok', 'tool_bug', 'not_found', 'timeout' as const), { maxLength: 30 });
  fc.assert(
    fc.property(ends, (outcomes) => {
      let state: FuseState = {};
      let inARow = 0;
      for (const end of outcomes) {
        state = observeForFuse(state, { tool: 'search', ...(end === 'ok' ? {} : { failureClass: end }) }, 1);
        if (end === 'ok') inARow = 0;
        else if (end !== 'not_found') inARow += 1;
        expect(blownFuse(state, 'search', 1)).toBe(inARow >= 3 ? inARow : undefined);
      }
    }),
  );
});
