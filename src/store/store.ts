import type { Outcome } from '../contract/call.js';
import type { AgentRunResult, RunStatus } from '../contract/run.js';
import type { JsonObject } from '../contract/json.js';
import type { Manifest } from '../contract/manifest.js';
import type { SeenRequests } from '../contract/seen-requests.js';
import type { TranscriptMessage, TranscriptNode } from '../contract/transcript.js';
import type { CallModelResult } from '../contract/activities.js';
import type { PinnedRun, Intervention, RecordedIntervention } from '../contract/intervention.js';
import type { LedgerEvent, LedgerRow, LedgerVerdict } from '../contract/ledger.js';

/** A run's root: reachable from here is what garbage collection keeps. */
export interface RunRecord {
  runKey: string;
  workflowId: string;
  task: string;
  manifestHash: string;
  /** Node that the conversation has reached; `''` for a run without a conversation (`toolExecutor()`). */
  head: string;
  status: RunStatus;
  result?: AgentRunResult;
  /** The execution (Temporal's run id) that has the run; absent where it is not known. */
  execution?: string;
  /** The execution (Temporal's run id) that wrote the end; absent while the run goes on. */
  endedBy?: string;
  /** Absent in runs that an older version started. */
  pinned?: PinnedRun;
  /** Store's clock, epoch milliseconds. */
  startedAtMs: number;
  updatedAtMs: number;
}

/**
 * The execution that asks for a change of how its run stands. A run is one execution's at a time: the first one's from its
 * start, and a later one's (after a reset, a retry, continue-as-new) as soon as that has taken it over. What an execution
 * asks for that does not have the run is rejected as `overtaken`, and nothing is written. That says no more than it does:
 * whoever asked may be left over from before, or may be the newest, which the Temporal server knows (`takeOver`).
 */
export interface AskingExecution {
  /** Temporal's run id. */
  runId: string;
}

/** Whose event it is that concerns a call of this run. */
export interface AskingOfCall extends AskingExecution {
  runKey: string;
}

/** Identifies a model turn: the same question is answered once. */
export interface TurnKey {
  runKey: string;
  step: number;
  /** Head before the turn. */
  head: string;
  /** Digest of the requested settings (model, tools offered, emphasis, final turn). */
  settings: string;
  take: number;
}

/** What a model turn finds. */
export interface StoredTurn {
  answer?: CallModelResult;
  interventions: RecordedIntervention[];
}

/** What an accepted model turn adds, in one transaction: first write wins. */
export interface TurnCommit {
  turn: TurnKey;
  /** Messages to append after `turn.head`, in order: tool messages of the previous step, then the assistant's. */
  messages: TranscriptMessage[];
  /** Stored as the turn's answer; its `head` is filled in by the store with the last node's id. */
  result: Omit<CallModelResult, 'head'>;
  /** Calls that the turn already answered (bad arguments, unknown tool), recorded with the turn. */
  answered: RecordedOutcome[];
}

/** The answer that a turn has. `isNew`: it is the one that was to be committed, and not one that came before it. */
export interface CommittedTurn {
  answer: CallModelResult;
  isNew: boolean;
}

/** What comes with a run's end. */
export interface RunEnding {
  by?: AskingExecution;
  /** Outcomes of the last step that no body ran for. */
  refused?: RecordedOutcome[];
}

/** An outcome with its rendered message, stored once under the call's key. */
export interface RecordedOutcome {
  key: string;
  runKey: string;
  callId: string;
  tool: string;
  digest: string;
  outcome: Outcome;
  /** What the model sees, byte for byte. */
  rendered: RenderedMessage;
}

export interface RenderedMessage {
  content: string;
  failed: boolean;
  attachments?: { bodyId: string; mediaType: string; bytes: number }[];
}

/**
 * What the model will see of the outcome that a ledger event may write: one message for `settle`; for `seal` one for each
 * of its two outcomes.
 */
export type LedgerRendering = RenderedMessage | { ifNone: RenderedMessage; ifUnknown: RenderedMessage };

/** A person's decision about a run, with all that it changes, in one transaction. */
export interface Intervening {
  runKey: string;
  intervention: Intervention;
  /** Present where the run goes on: it is `running` again, with these tools and limits. */
  run?: { manifest: Manifest; pinned: PinnedRun; by?: AskingExecution };
  /** `reopen` and `resolve` events, all of which must be accepted. */
  ledger: { key: string; event: LedgerEvent; rendered?: RenderedMessage }[];
}

/** `refused`: the ledger refused an event, and nothing was written. */
export type IntervenedRun =
  | { status: 'recorded'; intervention: RecordedIntervention }
  | { status: 'refused'; key: string; verdict: LedgerVerdict };

/** One start of a call's body, for the operator. */
export interface AttemptRecord {
  key: string;
  /** 1 for the first start. */
  start: number;
  /** Worker identity: host, process id. */
  worker: string;
  startedAtMs: number;
  endedAtMs?: number;
  /** The operator's record of the failure, redacted; absent on success and while running. */
  failure?: JsonObject;
  /** What the start was seen to ask of its backends; absent where nothing was seen. */
  requests?: SeenRequests;
}

/** What is left of a run whose record was collected. Epoch milliseconds on the store's clock. */
export interface Tombstone {
  runKey: string;
  workflowId: string;
  status: RunStatus;
  startedAtMs: number;
  endedAtMs: number;
  collectedAtMs: number;
}

/** An outcome that stood until a person's intervention: a retry took it back, or somebody's word replaced it. */
export interface TakenBackOutcome {
  runKey: string;
  key: string;
  /** When it was taken back, epoch milliseconds on the store's clock. */
  atMs: number;
  outcome: Outcome;
}

/** A stored call with everything about it. */
export interface CallRecord {
  row: LedgerRow;
  rendered?: RenderedMessage;
  attempts: AttemptRecord[];
}

/** Which calls of all runs are asked for, a page at a time. */
export interface CallPage {
  /** Only calls that changed last at this time or later; epoch milliseconds on the store's clock. */
  sinceMs: number;
  /** Where the page before ended; absent for the first. */
  after?: number;
  /** At most this many. */
  limit: number;
}

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
   * What is left of a run that garbage collection took. Whatever would write something new of such a run (its root, a turn, a
   * call) rejects with `collected`: an empty ledger would run its calls again.
   */
  getTombstone(runKey: string): Promise<Tombstone | undefined>;
  /** The newest run first. `workflowIdPrefix` narrows. */
  listRuns(filter: { workflowIdPrefix?: string; status?: RunStatus; limit: number }): Promise<RunRecord[]>;
  /**
   * Writes the run's end, which execution it was that ended, and the outcomes that the workflow refused in its last step, as
   * `recordOutcomes` does. A later end overwrites it: after a workflow reset a run ends again. Rejects with `missing_run` or
   * `overtaken`.
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

/**
 * - `unavailable`: the store cannot be reached, written or locked now; the same request may succeed later.
 * - `missing_run`, `missing_node`: this store does not have what the request is about; often it is another store.
 * - `overtaken`: the run is not known to be the asking execution's (`AskingExecution`).
 * - `collected`: the run was closed for longer than it is kept; only its tombstone is left.
 * - `moved`: this store was copied to another place, which has taken over its identity.
 * - `invalid`: the request itself cannot be stored; a programming error.
 */
export type StoreErrorCode =
  | 'unavailable'
  | 'newer_schema'
  | 'missing_run'
  | 'missing_node'
  | 'overtaken'
  | 'collected'
  | 'corrupt'
  | 'closed'
  | 'not_a_store'
  | 'moved'
  | 'invalid';

/** What is wrong with the store, in words for an operator. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
