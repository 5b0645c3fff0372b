import { type Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../config/duration.js';
import type { RunLimits } from '../contract/run-limits.js';

type Limit = number | 'none';

/** A run's limits as the command line takes them; absent leaves the limit as it is. */
export interface LimitOptions {
  maxSteps?: Limit;
  maxCalls?: Limit;
  maxTokens?: Limit;
  maxCost?: Limit;
  /** Milliseconds. */
  maxTime?: Limit;
  maxFailures?: Limit;
}

/** Adds the options to a command that starts a run or has one go on. */
export function addLimitOptions(command: Command): Command {
  return command
    .option('--max-steps <count>', 'model turns that may ask for tools, or "none" for no limit', count)
    .option('--max-calls <count>', 'tool calls, or none', count)
    .option('--max-tokens <count>', 'tokens in and out, or none', count)
    .option('--max-cost <dollars>', 'US dollars, or none', dollars)
    .option('--max-time <time>', 'wall time such as 30m or 12h, or none', time)
    .option('--max-failures <count>', 'failed tool calls, or none', count);
}

/** The limits that were given, cap by cap. */
export function limitsOf(options: LimitOptions): Partial<RunLimits> | undefined {
  const given: [keyof RunLimits, Limit | undefined][] = [
    ['steps', options.maxSteps],
    ['calls', options.maxCalls],
    ['tokens', options.maxTokens],
    ['costUsd', options.maxCost],
    ['wallTimeMs', options.maxTime],
    ['failures', options.maxFailures],
  ];
  const limits = given.flatMap(([cap, limit]) => (limit === undefined ? [] : [[cap, limit === 'none' ? null : limit]]));
  return limits.length === 0 ? undefined : (Object.fromEntries(limits) as Partial<RunLimits>);
}

function count(text: string): Limit {
  if (text === 'none') return text;
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError('Expected a whole number, or none.');
}

function dollars(text: string): Limit {
  if (text === 'none') return text;
  const number = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && Number.isFinite(number)) return number;
  throw new InvalidArgumentError('Expected an amount in US dollars such as 2.50, or none.');
}

function time(text: string): Limit {
  if (text === 'none') return text;
  try {
    return parseDuration('--max-time', text, { maxMs: Number.MAX_SAFE_INTEGER });
  } catch {
    throw new InvalidArgumentError('Expected a length of time such as 30m or 12h, or none.');
  }
}
