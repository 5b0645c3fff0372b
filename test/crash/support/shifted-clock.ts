/**
 * Preloaded into a worker and its threads: their machine's clock is off by what stands in the file that
 * PERDURE_CRASH_CLOCK names, in milliseconds. The monotonic clock is not touched, as it is not by a clock that is set.
 */
import { readFileSync } from 'node:fs';

const path = process.env['PERDURE_CRASH_CLOCK'] as string;
const RealDate = Date;
const realNow = Date.now;
const rereadMs = 10;
let readAt = -Infinity;
let offsetMs = 0;

function shiftedNow(): number {
  const now = realNow();
  if (performance.now() - readAt > rereadMs) {
    offsetMs = Number(readFileSync(path, 'utf8'));
    readAt = performance.now();
  }
  return now + offsetMs;
}

class ShiftedDate extends RealDate {
  constructor(...given: [] | [value: number | string | Date]) {
    if (given.length === 0) super(shiftedNow());
    else super(...given);
  }

  static override now(): number {
    return shiftedNow();
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
