import type { AgentRunResult } from '../contract/run.js';
import type { Manifest } from '../contract/manifest.js';
import type { TranscriptMessage, TranscriptNode } from '../contract/transcript.js';
import type { CallModelResult } from '../contract/activities.js';
import type { PinnedRun, RecordedIntervention } from '../contract/intervention.js';
import type { LedgerEvent, LedgerVerdict } from '../contract/ledger.js';
import type {
  RunFilter,
  RunRecord,
  AskingExecution,
  AskingOfCall,
  TurnKey,
  StoredTurn,
  TurnCommit,
  CommittedTurn,
  RunEnding,
  RecordedOutcome,
  RenderedMessage,
  LedgerRendering,
  Intervening,
  IntervenedRun,
  AttemptRecord,
  Tombstone,
  TakenBackOutcome,
  CallRecord,
  CallPage,
} from './records.js';

/**
 * The durable record of runs: transcript, ledger, turns. One contract test suite (`test/store/store-contract.ts`) runs
 * against each implementation.
 *
 * Every method that writes resolves only after the write is durable, but for those writes that nobody misses after a crash of
 * the machine (`relaxed-writes.ts`). Every method rejects with a `StoreError` that names
 * what is wrong (unreachable, newer schema, missing node) and never with a driver's error. Times are the store's clock.
 */
export interface Store {
  /** Random, made when the store was created; a run pins it. */
  readonly storeId: string;

  /** The store's clock, epoch milliseconds. */
  now(): Promise<number>;

  // --- runs -------------------------------------------------------------------------------------------------------
  /** Writes the run's root with its first nodes, or returns what was written before under the same runKey. */
  createRun(run: {
    runKey: string;
    workflowId: string;
    task: string;
    manifest: Manifest;
    pinned?: PinnedRun;
    messages: TranscriptMessage[];
    /** The execution that starts the run, and has it. */
    by?: AskingExecution;
  }): Promise<RunRecord>;
  getRun(runKey: string): Promise<RunRecord | undefined>;
  /**
   * Gives the run to the execution `runId`, where it is still that of `after` (`undefined`: where none is known to have it);
   * returns whether it has it now. To be asked by an execution of which the server has said that it is open, and said so
   * _after_ `after` was read. Of the executions of one workflow id only the newest is ever open, so whoever had the run then
   * is an earlier one; and a later one that took it over meanwhile keeps it. Rejects with `missing_run`.
   */
  takeOver(runKey: string, by: AskingExecution & { after: string | undefined }): Promise<boolean>;
  /**
   * What is left of a run that garbage collection took. Whatever would write something new of such a run (its root, who has it, a
   * turn, a call, a person's decision, its end) rejects with `collected`: an empty ledger would run its calls again. So too where
   * an older version's collection was stopped behind the tombstone and its rows can still be read; the next one takes them.
   */
  getTombstone(runKey: string): Promise<Tombstone | undefined>;
  /** The newest run first. */
  listRuns(filter: RunFilter): Promise<RunRecord[]>;
  /**
   * Writes the run's end, which execution it was that ended, where its conversation ends, and the outcomes that the workflow
   * refused in its last step, as `recordOutcomes` does. A later end overwrites it: after a workflow reset a run ends again.
   * Rejects with `missing_run` or `overtaken`.
   */
  finishRun(runKey: string, result: AgentRunResult, end?: RunEnding): Promise<void>;
  /**
   * Records what a person decided about a run and carries it out. First write wins: the same intervention asked again is
   * returned as it was recorded, and changes nothing. Rejects with `missing_run`, or `overtaken` by `run.by`.
   */
  intervene(change: Intervening): Promise<IntervenedRun>;
  /** Oldest first. */
  listInterventions(runKey: string): Promise<RecordedIntervention[]>;
  /** Outcomes of all runs that were taken back at `sinceMs` or later, the one taken back first first. */
  listTakenBack(filter: { sinceMs: number }): Promise<TakenBackOutcome[]>;
  getManifest(hash: string): Promise<Manifest | undefined>;

  // --- transcript ---------------------------------------------------------------------------------------------------
  getNode(id: string): Promise<TranscriptNode | undefined>;
  /** From the root to `head`; `''` has none. Rejects with a `StoreError` (`missing_node`) that names the node that isn't there. */
  getChain(head: string): Promise<TranscriptNode[]>;

  // --- model turns --------------------------------------------------------------------------------------------------
  /** What is stored before the turn is asked for: its answer, if it has one, and the run's interventions, oldest first. */
  getTurn(turn: TurnKey): Promise<StoredTurn>;
  /**
   * Counts a start of the turn and returns the count, this one included. Starting a turn also says that the run has gone
   * this way: the turn started last is the one whose commit moves the run's head. One that has its answer is counted and no
   * more: an attempt that was stopped before this and woke up must not hold up the turns that came after.
   *
   * A run that an earlier execution has ended goes on: after a reset it is `running` again. Rejects with `missing_run`, or
   * `overtaken`: an execution that is left over does not turn the run back to its own way.
   */
  countTurnStart(turn: TurnKey, by?: AskingExecution): Promise<number>;
  /**
   * Commits nodes, answered calls, the turn and the run's new head together. A turn that was answered before stays as it is:
   * that answer is returned, and nothing is written.
   *
   * The head moves to the new node only where the run has started no other turn since. So after a workflow reset the branch
   * asked last has the head, and a zombie of the branch left behind keeps its answer and moves nothing. A turn that was
   * never counted as started counts as started now. Rejects with `missing_run`, `missing_node`, or
   * `overtaken` where the turn has no answer yet: what a call that was answered at once got from an execution that is left over
   * must not become the outcome of the same call of a later one, which may be running.
   */
  commitTurn(commit: TurnCommit, by?: AskingExecution): Promise<CommittedTurn>;
  /**
   * The committed turns of a run in the order of their commits, with the store's time of each. `after` leaves out that
   * many from the beginning: who knows the first ones reads only what is new.
   */
  listTurns(runKey: string, after?: number): Promise<{ turn: TurnKey; result: CallModelResult; atMs: number }[]>;

  // --- ledger -------------------------------------------------------------------------------------------------------
  /**
   * Applies one event to one row by the pure transition in `policy/ledger.ts`, atomically, on the store's clock.
   * An accepted `begin` with `by` adds the start's `AttemptRecord` in the same transaction.
   *
   * `rendered` is stored with the outcome that a `settle`, `seal` or `resolve` writes, in the same transaction; it is dropped where the
   * event writes none, so the caller shows the model what `getCall` returns.
   *
   * With `by`, which belongs to the events that nobody's token protects (`claim`, the `begin` of a read, `seal`, those of
   * agents' calls), it rejects with `overtaken` where the run is another execution's: so an execution has the run before a
   * body of its own begins, and what is left over of a former one can neither take the call nor end it.
   */
  applyLedger(key: string, event: LedgerEvent, rendered?: LedgerRendering, by?: AskingOfCall): Promise<LedgerVerdict>;
  /**
   * Stores outcomes that no body ran for (refused by the workflow), as `sealed` rows. A key that has an outcome keeps it; a
   * key that somebody holds is sealed, so that a late result changes nothing. Rejects with `overtaken` where one of the runs
   * is another execution's: that may have the same calls run.
   */
  recordOutcomes(outcomes: RecordedOutcome[], by?: AskingExecution): Promise<void>;
  getCall(key: string): Promise<CallRecord | undefined>;
  /** In the order of the calls. */
  listCalls(runKey: string): Promise<CallRecord[]>;
  /**
   * Calls of all runs with their attempts, in the order of their first writing, which for one run is that of its steps.
   * `next` is the `after` of the page that follows; absent where there is none. What is written meanwhile may be missed.
   */
  listCallsSince(page: CallPage): Promise<{ calls: CallRecord[]; next?: number }>;
  /** Messages of the run's calls that hold `text`, as they were rendered. */
  findRendered(runKey: string, text: string): Promise<RenderedMessage[]>;
  /** Keys of calls of the run that failed or were aborted, other than those cancelled or skipped; at most `limit` of them. */
  listFailedCalls(runKey: string, limit: number): Promise<string[]>;
  /**
   * Starts of model turns that were recorded under keys of `turnAttemptKey`: of one run, or those of all runs that began at
   * `sinceMs` (their worker's clock) or later.
   */
  listTurnAttempts(filter: { runKey?: string; sinceMs?: number }): Promise<AttemptRecord[]>;
  /** Adds the operator's record of one start, or completes it: fields that are there stay, absent ones are filled in. */
  recordAttempt(attempt: AttemptRecord): Promise<void>;

  // --- bodies -------------------------------------------------------------------------------------------------------
  /** Stores bytes under a keyed hash of them; equal bytes have one id. */
  putBody(bytes: Uint8Array): Promise<string>;
  /** `undefined` where there is none or it was erased. */
  getBody(id: string): Promise<Uint8Array | undefined>;

  /** Waits for what was asked before, then closes. Whatever is asked later rejects with `closed`. */
  close(): Promise<void>;
}
