import { assertNever } from '../contract/json.js';
import type { Fault, FaultPlan } from './fault.js';

/**
 * Which fault hits which start. Every fault counts the starts that it is for and draws from a sequence of its own, so that
 * equal seeds and equal orders of starts give equal faults, whatever other faults there are.
 */
export class FaultSchedule {
  readonly #entries: { fault: Fault; starts: number; random: () => number }[];

  constructor(plan: FaultPlan) {
    this.#entries = plan.faults.map((fault, index) => ({ fault, starts: 0, random: mulberry32(plan.seed + index) }));
  }

  /** Counts one start of a tool. Of several faults that hit it, the first in the list is returned. */
  next(tool: string): Fault | undefined {
    const hits = this.#entries.filter((entry) => {
      if (entry.fault.tool !== tool && entry.fault.tool !== '*') return false;
      entry.starts += 1;
      const { timing } = entry.fault;
      switch (timing.on) {
        case 'every':
          return true;
        case 'nth':
          return entry.starts === timing.nth;
        case 'chance':
          return entry.random() < timing.probability;
        default:
          return assertNever(timing);
      }
    });
    return hits[0]?.fault;
  }
}

/** A small generator of numbers in [0, 1) that is good enough for chance in tests: Tommy Ettinger's mulberry32. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
