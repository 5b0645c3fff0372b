import type { SharedEvent } from '../policy/shared-state.js';

/** Longer than any cool-down or lease, and short enough for a table that every lock's key leaves a row in. */
export const SHARED_DROPPED_AFTER_MS = 24 * 3_600_000;
export const SHARED_SWEEP_EVERY_MS = 3_600_000;

/** Events of different kinds never meet, whatever their names. */
export function sharedKey(name: string, event: SharedEvent): string {
  return `${event.kind}/${name}`;
}
