import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FaultSchedule } from '../../src/faults/fault-schedule.js';
import { parseFaults } from '../../src/faults/parse-fault.js';

const scheduleOf = (text: string, seed = 1) => new FaultSchedule({ faults: parseFaults('F', text), seed });
const hits = (schedule: FaultSchedule, tools: string[]) => tools.map((tool) => schedule.next(tool)?.text);

describe('FaultSchedule', () => {
  it('hits the third start of the tool that it names, once', () => {
    expect(hits(scheduleOf('a:404@3'), ['a', 'b', 'a', 'a', 'b', 'a'])).toEqual([
      undefined,
      undefined,
      undefined,
      'a:404@3',
      undefined,
      undefined,
    ]);
  });

  it('counts starts of all tools for *', () => {
    expect(hits(scheduleOf('*:404@2'), ['a', 'b', 'c'])).toEqual([undefined, '*:404@2', undefined]);
  });

  it('gives the first of several that hit, and counts for all of them', () => {
    expect(hits(scheduleOf('*:404@1,a:503@2,a:timeout'), ['a', 'a', 'a'])).toEqual(['*:404@1', 'a:503@2', 'a:timeout']);
  });

  it('hits about the share that is asked for, and equal starts with equal seeds', () => {
    const run = (seed: number) => hits(scheduleOf('a:404@10%', seed), Array<string>(10_000).fill('a'));
    const share = run(42).filter(Boolean).length / 10_000;
    expect(share).toBeGreaterThan(0.085);
    expect(share).toBeLessThan(0.115);
    expect(run(42)).toEqual(run(42));
    expect(run(42)).not.toEqual(run(43));
  });

  it('draws for one fault what it draws without the others', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b'), { maxLength: 50 }), fc.nat(), (tools, seed) => {
        const alone = hits(scheduleOf('a:404@50%', seed), tools);
        expect(
          hits(scheduleOf('a:404@50%,b:503@50%', seed), tools).map((hit) => (hit?.startsWith('a') ? hit : undefined)),
        ).toEqual(alone);
      }),
    );
  });
});
