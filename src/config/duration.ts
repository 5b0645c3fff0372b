import { ConfigError } from './config-error.js';
import { shown } from './check-options.js';
import type { Duration } from '../tools/tool.js';

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The longest time that a Node.js timer can wait (2³¹ − 1 ms, nearly 25 days); above it, it fires at once. */
const longestTimerMs = 2_147_483_647;

/**
 * Milliseconds of a duration in configuration: a number of milliseconds, or `'250ms'`, `'1.5s'`, `'5m'`, `'2h'`, `'7d'`.
 * `minMs` (default 1) is the least that makes sense for the option, `maxMs` the most (default what a timer can wait).
 * Throws `ConfigError` with `path` and the value.
 */
export function parseDuration(path: string, value: unknown, bounds: { minMs?: number; maxMs?: number } = {}): number {
  const { minMs = 1, maxMs = longestTimerMs } = bounds;
  const ms = typeof value === 'number' ? value : typeof value === 'string' ? msOfText(value) : undefined;
  if (ms === undefined || !Number.isFinite(ms)) {
    throw new ConfigError(path, `expected milliseconds or a text such as '30s' or '5m', got ${shown(value)}`);
  }
  const rounded = Math.round(ms);
  if (rounded < minMs) throw new ConfigError(path, `expected ${String(minMs)} ms or more, got ${shown(value)}`);
  if (rounded > maxMs) {
    throw new ConfigError(path, `expected at most ${String(Math.floor(maxMs / unitMs.d))} days, got ${shown(value)}`);
  }
  return rounded;
}

function msOfText(text: Duration): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*$/.exec(String(text));
  return match ? Number(match[1]) * unitMs[match[2] as keyof typeof unitMs] : undefined;
}
