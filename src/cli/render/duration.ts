const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A length of time as a person reads it: `120 ms`, `12.4 s`, `3 min 05 s`, `2 h 07 min`, `3 d 4 h`. */
export function formatDuration(durationMs: number): string {
  const ms = Math.max(0, Math.round(durationMs));
  if (ms < SECOND_MS) return `${ms} ms`;
  // 59,950 ms and more would be rounded to 60.0 s.
  if (ms < MINUTE_MS - 50) return `${(ms / SECOND_MS).toFixed(1)} s`;
  if (ms < HOUR_MS - SECOND_MS / 2) return twoUnits(Math.round(ms / SECOND_MS), 60, 'min', 's');
  if (ms < 2 * DAY_MS - MINUTE_MS / 2) return twoUnits(Math.round(ms / MINUTE_MS), 60, 'h', 'min');
  const hours = Math.round(ms / HOUR_MS);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

function twoUnits(small: number, base: number, bigUnit: string, smallUnit: string): string {
  const rest = String(small % base).padStart(2, '0');
  return `${Math.floor(small / base)} ${bigUnit} ${rest} ${smallUnit}`;
}

/** How long ago, roughly: `just now`, `40 s ago`, `2 min ago`, `3 h ago`, `5 d ago`. */
export function formatAgo(atMs: number, nowMs: number): string {
  const ago = nowMs - atMs;
  if (ago < 5 * SECOND_MS) return 'just now';
  if (ago < MINUTE_MS) return `${Math.floor(ago / SECOND_MS)} s ago`;
  if (ago < HOUR_MS) return `${Math.floor(ago / MINUTE_MS)} min ago`;
  if (ago < 2 * DAY_MS) return `${Math.floor(ago / HOUR_MS)} h ago`;
  return `${Math.floor(ago / DAY_MS)} d ago`;
}

/** A moment for operators, to the millisecond and in UTC, as the logs have it. */
export function formatMoment(atMs: number): string {
  return Number.isFinite(atMs) ? new Date(atMs).toISOString() : 'unknown';
}
