/** What the reason of a run's end says of it. */
import type { RunLimits } from '../contract/run-limits.js';
import type { RunStatus, TerminationReason } from '../contract/run.js';
import { describeCap } from './run-budget.js';

export function statusOf(reason: TerminationReason): Exclude<RunStatus, 'running'> {
  switch (reason) {
    case 'answered':
      return 'completed';
    case 'steps_cap':
    case 'calls_cap':
    case 'tokens_cap':
    case 'cost_cap':
    case 'wall_time_cap':
    case 'failures_cap':
    case 'loop_detected':
    case 'no_progress':
      return 'capped';
    case 'cancelled':
      return 'cancelled';
    case 'empty_turns':
    case 'security_violation':
    case 'model_failed':
      return 'failed';
  }
}

export function summaryOf(reason: TerminationReason, limits: RunLimits): string {
  switch (reason) {
    case 'answered':
      return 'the model gave its answer';
    case 'steps_cap':
    case 'calls_cap':
    case 'tokens_cap':
    case 'cost_cap':
    case 'wall_time_cap':
    case 'failures_cap':
    case 'loop_detected':
    case 'no_progress':
      return describeCap(reason, limits);
    case 'empty_turns':
      return 'the model gave neither an answer nor a call, twice in a row';
    case 'security_violation':
      return 'a call was refused as a security violation';
    case 'model_failed':
      return 'the model could not answer';
    case 'cancelled':
      return 'the run was cancelled';
  }
}
