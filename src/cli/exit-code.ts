import type { AgentRunResult } from '../contract/run.js';
import { assertNever } from '../contract/json.js';

/** What the command line ends with; part of what scripts may rely on. */
export const exitCodes = {
  done: 0,
  /** An error in perdure itself. */
  broken: 1,
  /** A mistake in the command, the configuration or the set-up: put it right and try again. */
  usage: 2,
  /** A limit ended the run, with a last answer. */
  capped: 3,
  /** The run failed, or somebody cancelled or terminated it. */
  failed: 4,
  /** A recorded history does not replay with today's code. */
  diverged: 5,
  /** Ctrl-C: the run lives on. 128 + SIGINT, as shells have it. */
  detached: 130,
} as const;

export type ExitName = keyof typeof exitCodes;

/** The same in words, for help and documentation. */
export const exitWords: Readonly<Record<ExitName, string>> = {
  done: 'done',
  broken: 'an error in perdure itself',
  usage: 'a mistake in the command, the configuration or the set-up',
  capped: 'a limit ended the run, with a last answer',
  failed: 'the run failed, or somebody cancelled or terminated it',
  diverged: "a recorded history does not replay with today's code",
  detached: 'Ctrl-C; the run lives on',
};

export function exitCodeOf(status: AgentRunResult['status']): number {
  switch (status) {
    case 'completed':
      return exitCodes.done;
    case 'capped':
      return exitCodes.capped;
    case 'failed':
    case 'cancelled':
      return exitCodes.failed;
    default:
      return assertNever(status);
  }
}
