import type { CallState, RunState } from '../../client/run-description.js';
import { assertNever } from '../../contract/json.js';
import type { Colours } from './style.js';

/** A run's state in a person's words. */
export function runStateWord(state: RunState): string {
  return state === 'timed_out' ? 'timed out' : state;
}

export function paintRunState(state: RunState, colours: Colours, text = runStateWord(state)): string {
  switch (state) {
    case 'completed':
      return colours.green(text);
    case 'running':
      return colours.cyan(text);
    case 'capped':
      return colours.yellow(text);
    case 'failed':
    case 'terminated':
    case 'timed_out':
      return colours.red(text);
    case 'waiting':
    case 'cancelled':
      return colours.dim(text);
    default:
      return assertNever(state);
  }
}

/** One character for a call's state. */
export function callMark(state: CallState): string {
  switch (state) {
    case 'succeeded':
      return '✓';
    case 'partial':
      return '◐';
    case 'failed':
    case 'aborted':
      return '✗';
    case 'retrying':
      return '↻';
    case 'running':
      return '▸';
    case 'waiting':
    case 'pending':
      return '·';
    default:
      return assertNever(state);
  }
}

export function paintCallState(state: CallState, colours: Colours, text: string): string {
  switch (state) {
    case 'succeeded':
      return colours.green(text);
    case 'partial':
    case 'retrying':
      return colours.yellow(text);
    case 'failed':
    case 'aborted':
      return colours.red(text);
    case 'running':
      return colours.cyan(text);
    case 'waiting':
    case 'pending':
      return colours.dim(text);
    default:
      return assertNever(state);
  }
}
