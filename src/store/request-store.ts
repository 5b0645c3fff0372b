import type { AgentRunResult } from '../contract/run.js';
import type { LedgerEvent } from '../contract/ledger.js';
import type { SharedEvent, SharedVerdict } from '../policy/shared-state.js';
import type { WorkerStore } from './shared-state.js';
import type {
  AskingExecution,
  AskingOfCall,
  AttemptRecord,
  CallPage,
  Intervening,
  LedgerRendering,
  RecordedOutcome,
  RunEnding,
  RunFilter,
  TurnCommit,
  TurnKey,
} from './records.js';
import type { StoreError } from './store-error.js';
import type { Store } from './store.js';

/** The methods that ask a store something. */
export type RequestMethod = Exclude<keyof WorkerStore, 'storeId' | 'close' | 'lost'>;

/** A store whose requests all take one way: to a thread, to a pool of connections, to another store. */
export abstract class RequestStore implements WorkerStore {
  abstract readonly storeId: string;
  abstract close(): Promise<void>;
  /** Never, unless the store says otherwise. */
  readonly lost: Promise<StoreError> = new Promise(() => undefined);
  protected abstract ask<M extends RequestMethod>(
    method: M,
    ...args: Parameters<WorkerStore[M]>
  ): ReturnType<WorkerStore[M]>;

  now = () => this.ask<'now'>('now');
  createRun = (run: Parameters<Store['createRun']>[0]) => this.ask('createRun', run);
  getRun = (runKey: string) => this.ask('getRun', runKey);
  takeOver = (runKey: string, by: Parameters<Store['takeOver']>[1]) => this.ask('takeOver', runKey, by);
  listRuns = (filter: RunFilter) => this.ask('listRuns', filter);
  finishRun = (runKey: string, result: AgentRunResult, end?: RunEnding) => this.ask('finishRun', runKey, result, end);
  intervene = (change: Intervening) => this.ask('intervene', change);
  listInterventions = (runKey: string) => this.ask('listInterventions', runKey);
  listTakenBack = (filter: { sinceMs: number }) => this.ask('listTakenBack', filter);
  getTombstone = (runKey: string) => this.ask('getTombstone', runKey);
  getManifest = (hash: string) => this.ask('getManifest', hash);
  getNode = (id: string) => this.ask('getNode', id);
  getChain = (head: string) => this.ask('getChain', head);
  getTurn = (turn: TurnKey) => this.ask('getTurn', turn);
  countTurnStart = (turn: TurnKey, by?: AskingExecution) => this.ask('countTurnStart', turn, by);
  commitTurn = (commit: TurnCommit, by?: AskingExecution) => this.ask('commitTurn', commit, by);
  listTurns = (runKey: string, after = 0) => this.ask('listTurns', runKey, after);
  applyLedger = (key: string, event: LedgerEvent, rendered?: LedgerRendering, by?: AskingOfCall) =>
    this.ask('applyLedger', key, event, rendered, by);
  recordOutcomes = (outcomes: RecordedOutcome[], by?: AskingExecution) => this.ask('recordOutcomes', outcomes, by);
  getCall = (key: string) => this.ask('getCall', key);
  listCalls = (runKey: string) => this.ask('listCalls', runKey);
  listCallsSince = (page: CallPage) => this.ask('listCallsSince', page);
  findRendered = (runKey: string, text: string) => this.ask('findRendered', runKey, text);
  listFailedCalls = (runKey: string, limit: number) => this.ask('listFailedCalls', runKey, limit);
  listTurnAttempts = (filter: { runKey?: string; sinceMs?: number }) => this.ask('listTurnAttempts', filter);
  recordAttempt = (attempt: AttemptRecord) => this.ask('recordAttempt', attempt);
  applyShared = <E extends SharedEvent>(name: string, event: E) =>
    // The transition answers each kind of event with its own kind of verdict.
    this.ask('applyShared', name, event) as Promise<SharedVerdict<E>>;
  putBody = (bytes: Uint8Array) => this.ask('putBody', bytes);
  getBody = (id: string) => this.ask('getBody', id);
}
