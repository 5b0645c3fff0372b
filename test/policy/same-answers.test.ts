import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LoopState } from '../../src/contract/guard-state.js';
import { isStuck, noLoop, observeCall } from '../../src/policy/loop-defence.js';
import {
  admitAnswer,
  argumentWords,
  observeAnswerRefusal,
  observeAnswers,
  type AnswerWeight,
} from '../../src/policy/same-answers.js';

const equalAnswers = 5;

interface Made {
  tool?: string;
  answer?: string;
  weight?: AnswerWeight;
  hadEffect?: boolean;
  /** Text of the arguments. */
  asks?: string;
}

/** One round of one call: what the guard says of it, and the state after it. */
function round(state: LoopState, { tool = 'search', answer = 'page', weight = 'long', hadEffect = false, asks }: Made) {
  const words = argumentWords([asks ?? `${Math.random()}`]);
  const verdict = admitAnswer(state, { tool, words: () => words }, equalAnswers);
  if (verdict.type === 'refuse') return { state: observeAnswerRefusal(state, tool), verdict: verdict.type };
  const answers = [{ digest: answer, weight }];
  return { state: observeAnswers(state, { tool, answers, hadEffect, words, key: 'k1' }), verdict: verdict.type };
}

const mark = { run: '.', hint: '?', refuse: 'X' };

function verdicts(...made: Made[]): string {
  let state = noLoop;
  return made
    .map((each) => {
      const next = round(state, each);
      state = next.state;
      return mark[next.verdict];
    })
    .join('');
}

const times = (count: number, made: Made = {}) => Array.from({ length: count }, () => made);
const asking = (...questions: string[]): Made[] => questions.map((asks) => ({ asks, weight: 'short' }));

describe('one and the same answer to different arguments', () => {
  it('is refused after five rounds where it is long, tried once more, and refused again', () => {
    expect(verdicts(...times(9))).toBe('....?X.X.');
  });

  it('ends the run at its second refusal', () => {
    let state = noLoop;
    for (let n = 0; n < 7; n += 1) state = round(state, {}).state;
    expect(isStuck(state)).toBe(false);
    expect(isStuck(round(state, {}).state)).toBe(true);
  });

  it('is only told where it is short: at the fifth round, the tenth, the twentieth', () => {
    const told = [...verdicts(...times(100, { weight: 'short' }))].flatMap((verdict, n) =>
      verdict === '.' ? [] : [n + 1],
    );
    expect(told).toEqual([5, 10, 20, 40, 80]);
  });

  it('is refused where it is short and the arguments only grew or shrank', () => {
    expect(verdicts(...asking('a', 'a b', 'a b c', 'a b c d', 'a b', 'a b e', 'b e'))).toBe('....?X.');
  });

  it('of failures is refused after ten rounds, and after twenty where they are about the arguments', () => {
    expect(verdicts(...times(11, { weight: 'failure' })).indexOf('X')).toBe(10);
    expect(verdicts(...times(21, { weight: 'refusal' })).indexOf('X')).toBe(20);
    const mixed = [...times(10, { weight: 'failure' as const }).slice(1), ...times(11, { weight: 'refusal' as const })];
    expect(verdicts(...mixed)).not.toContain('X');
  });

  it('starts anew after another answer, an effect of its own, and an effect of another tool', () => {
    expect(verdicts(...times(4), { answer: 'other' }, ...times(4))).not.toContain('X');
    expect(verdicts(...times(4), { hadEffect: true }, ...times(4))).not.toContain('X');
    let state = noLoop;
    for (let n = 0; n < 5; n += 1) state = round(state, {}).state;
    const write = { digest: 'w', tool: 'write', key: 'k', result: 'ok', effect: 'once', succeeded: true } as const;
    expect(round(observeCall(state, write), {}).verdict).toBe('run');
    // A read of another tool is no news.
    expect(round(observeCall(state, { ...write, effect: 'read' }), {}).verdict).toBe('refuse');
  });

  it('is cleared by another answer in the round after a refusal', () => {
    expect(verdicts(...times(5), {}, { answer: 'other' }, ...times(4))).toBe('....?X.....');
  });

  it('is no matter to a run that has no such rule', () => {
    let state = noLoop;
    for (let n = 0; n < 9; n += 1) state = round(state, {}).state;
    for (const rule of [undefined, null]) {
      expect(admitAnswer(state, { tool: 'search', words: () => undefined }, rule)).toEqual({ type: 'run' });
    }
  });

  it('of several calls of a turn counts once, and differing answers of a turn start anew', () => {
    const page = { digest: 'page', weight: 'long' } as const;
    const both = { tool: 'search', hadEffect: false, words: undefined, key: 'k' };
    const two = observeAnswers(noLoop, { ...both, answers: [page, page] });
    expect(two.answers?.['search']?.rounds).toBe(1);
    const differing = observeAnswers(two, { ...both, answers: [page, { ...page, digest: 'other' }] });
    expect(differing.answers).toEqual({});
  });
});

describe('whatever a model does', () => {
  const made = fc.record({
    tool: fc.constantFrom('a', 'b', 'constructor', '__proto__'),
    answer: fc.constantFrom('x', 'y'),
    weight: fc.constantFrom<AnswerWeight>('long', 'short', 'failure', 'refusal'),
    hadEffect: fc.boolean(),
    asks: fc.constantFrom('a', 'a b', 'c', 'd e f'),
  });

  it('no call is refused before a tool has given one answer in five rounds', () => {
    fc.assert(
      fc.property(fc.array(made, { maxLength: 80 }), (calls) => {
        let state = noLoop;
        const rows = new Map<string, { answer: string; rounds: number }>();
        for (const each of calls) {
          const next = round(state, each);
          if (next.verdict === 'refuse') expect(rows.get(each.tool)?.rounds ?? 0).toBeGreaterThanOrEqual(equalAnswers);
          else if (each.hadEffect) rows.delete(each.tool);
          else {
            const row = rows.get(each.tool);
            rows.set(each.tool, { answer: each.answer, rounds: row?.answer === each.answer ? row.rounds + 1 : 1 });
          }
          state = next.state;
        }
      }),
    );
  });

  it('the state stays bounded, survives JSON, and is never changed in place', () => {
    const wide = fc.record({ tool: fc.nat(200).map(String), asks: fc.string({ maxLength: 400 }) });
    fc.assert(
      fc.property(fc.array(wide, { minLength: 80, maxLength: 120 }), (calls) => {
        let state = noLoop;
        for (const each of calls) {
          const before = JSON.stringify(state);
          const next = round(state, each).state;
          expect(JSON.stringify(state)).toBe(before);
          state = JSON.parse(JSON.stringify(next)) as LoopState;
          expect(state).toEqual(next);
        }
        expect(Object.keys(state.answers ?? {}).length).toBeLessThanOrEqual(64);
        expect(JSON.stringify(state).length).toBeLessThan(64 * 600);
      }),
      { numRuns: 20 },
    );
  });
});
