/** What a store is given and gives: plain data. */
import type { Outcome } from '../contract/call.js';
import type { AgentRunResult, RunStatus } from '../contract/run.js';
import type { JsonObject } from '../contract/json.js';
import type { Manifest } from '../contract/manifest.js';
import type { SeenRequests } from '../contract/seen-requests.js';
import type { TranscriptMessage } from '../contract/transcript.js';
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
  /** Node that the run's conversation ends with. Default: where it is. */
  head?: string;
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

/** Which runs are listed; what is absent narrows nothing. */
export interface RunFilter {
  /** Exactly this name; the newest of namesakes comes first. */
  workflowId?: string;
  workflowIdPrefix?: string;
  status?: RunStatus;
  limit: number;
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
