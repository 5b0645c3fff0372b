import type { AgentRunInput, AgentRunResult } from '../contract/run.js';
import type { RunLimits } from '../contract/run-limits.js';
import type { RecordedExecution } from '../replay/recorded-execution.js';

/** A workflow's state as the server tells it. */
export type ServerStatus = 'running' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'timed_out';

/** A call or another activity that the server has not seen the end of. */
export interface PendingWork {
  /** Its id in the workflow: that of a call, e.g. `c3.0`, or `turn-3`. */
  id: string;
  /** Activity type, e.g. `callTool`. */
  activity: string;
  state: 'scheduled' | 'started' | 'cancelling';
  /** The server's attempt number; not the count of body starts, which is in the store. */
  attempt: number;
  /** Words of the last failed attempt. */
  lastFailure?: string;
  /** When the next attempt starts, epoch milliseconds. */
  nextAttemptAtMs?: number;
}

/** One run as the server knows it. */
export interface ServerRun {
  id: string;
  /** From the memo; absent where somebody else started the workflow. */
  runKey?: string;
  /** First words of the task, from the memo. */
  task?: string;
  status: ServerStatus;
  /** Temporal's own run id of the newest execution in the chain. */
  executionId: string;
  taskQueue: string;
  startedAtMs: number;
  closedAtMs?: number;
  historyEvents: number;
  historyBytes?: number;
  /** Asked for by `describe` alone. */
  pending?: PendingWork[];
  /** Asked for by `describe` alone: the workflow task fails again and again, so nothing goes on. */
  stuck?: { attempts: number; reason: string };
}

/**
 * Something that befell a run on the server: somebody's command, or an execution's end. `history_gone`: the server lists the
 * execution and has its history no more, so that nobody knows what was done to it; `atMs` is its end, else its start.
 */
export interface ServerEvent {
  type: 'cancel_requested' | 'terminated' | 'reset' | 'closed' | 'history_gone';
  atMs: number;
  executionId: string;
  /** Who asked, as Temporal has it: `anna@box` for a command of perdure, else what the other client calls itself. */
  by?: string;
  reason?: string;
}

export interface StartRequest {
  id: string;
  input: AgentRunInput & { runKey: string };
  taskQueue: string;
  /** The run goes on after it ended: its id was used before. */
  again?: true;
}

/** How a workflow ended, by the server's account. */
export type RunEnd =
  /** By its own account: completed, capped, or failed with its result as the failure's detail. */
  | { status: 'reported'; result: AgentRunResult }
  | { status: 'cancelled' }
  /** From outside, or by a failure that holds no result. */
  | { status: 'terminated' | 'timed_out' | 'failed'; reason: string };

/**
 * What the client asks of Temporal. Every method rejects with a `PerdureError` (`server_unreachable` where nobody
 * answers) and never with the SDK's errors.
 */
export interface RunServer {
  /** Link to a run in the Temporal UI, where its address is known. */
  runUrl(id: string): string | undefined;
  /** Starts the workflow; rejects with `run_exists` where the id is used, or was and `again` is not set. */
  start(request: StartRequest): Promise<void>;
  /** `undefined` where the server knows no such workflow. */
  describe(id: string): Promise<ServerRun | undefined>;
  /** The limits that the run was started with; `undefined` until it has begun, and where its history is encrypted. */
  limits(id: string): Promise<RunLimits | undefined>;
  /** Runs on the task queue, newest first. */
  list(filter: { taskQueue: string; limit: number }): Promise<ServerRun[]>;
  /** Waits for the end, over continue-as-new. Rejects with `run_not_found` where the server knows no such run. */
  waitForEnd(id: string): Promise<RunEnd>;
  /** Asks the run to end; resolves when the server has noted it. Rejects with `run_not_found` where it is closed. */
  cancel(id: string): Promise<void>;
  /** Ends this execution and no other at once, without asking it. Rejects with `run_not_found` where it is closed. */
  terminate(execution: Pick<ServerRun, 'id' | 'executionId'>, reason: string): Promise<void>;
  /**
   * What befell the run on the server, over all of its executions that the server still knows, oldest first. Reads their
   * histories but those that continued as new. With `runKey`, executions of a namesake are left out.
   */
  events(id: string, runKey?: string): Promise<ServerEvent[]>;
  /** True where a worker has asked for work on the queue lately. */
  hasWorker(taskQueue: string): Promise<boolean>;
  /**
   * The histories of a run's executions, the first one first: several where it continued as new. Executions that the
   * server has forgotten are missing at the beginning. Rejects with `run_not_found`.
   */
  histories(id: string): AsyncIterable<RecordedExecution>;
  /**
   * The histories of all executions on the queue, open ones and those closed at `closedSinceMs` or later; newest first. One
   * that the server forgets meanwhile is missing.
   */
  allHistories(filter: { taskQueue: string; closedSinceMs?: number }): AsyncIterable<RecordedExecution>;
  close(): Promise<void>;
}
