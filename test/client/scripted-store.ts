import type { RunRecord } from '../../src/store/records.js';
import type { Store } from '../../src/store/store.js';
import type { StoredTurn } from '../../src/client/run-description.js';
import type { RecordedIntervention } from '../../src/contract/intervention.js';
import type { CallRecord, TakenBackOutcome, Tombstone } from '../../src/store/records.js';
import type { TranscriptNode } from '../../src/contract/transcript.js';

export interface StoredRuns {
  runs?: RunRecord[];
  turns?: Record<string, StoredTurn[]>;
  calls?: Record<string, CallRecord[]>;
  nodes?: TranscriptNode[];
  interventions?: Record<string, RecordedIntervention[]>;
  takenBack?: TakenBackOutcome[];
  tombstones?: Tombstone[];
  /** The store's clock. */
  nowMs?: number;
}

/** A store with fixed contents. Whatever a client has no business with throws. */
export function scriptedStore(contents: StoredRuns = {}): Store {
  const {
    runs = [],
    turns = {},
    calls = {},
    nodes = [],
    interventions = {},
    takenBack = [],
    tombstones = [],
    nowMs = 0,
  } = contents;
  const readable: Partial<Store> = {
    storeId: '0a1b2c3d-4e5f',
    getRun: (runKey) => Promise.resolve(runs.find((run) => run.runKey === runKey)),
    listRuns: ({ workflowId, workflowIdPrefix = '', status, limit }) =>
      Promise.resolve(
        runs
          .filter(
            (run) =>
              (workflowId === undefined || run.workflowId === workflowId) &&
              run.workflowId.startsWith(workflowIdPrefix) &&
              (status === undefined || run.status === status),
          )
          .slice(0, limit),
      ),
    getTombstone: (runKey) => Promise.resolve(tombstones.find((tombstone) => tombstone.runKey === runKey)),
    listTurns: (runKey, after = 0) => Promise.resolve((turns[runKey] ?? []).slice(after)),
    listCalls: (runKey) => Promise.resolve(calls[runKey] ?? []),
    now: () => Promise.resolve(nowMs),
    listCallsSince: ({ sinceMs, after = 0, limit }) => {
      const all = Object.values(calls).flat();
      const found = all.slice(after).filter(({ row }) => row.updatedAtMs >= sinceMs);
      const page = found.slice(0, limit);
      const last = page.at(-1);
      return Promise.resolve({ calls: page, ...(found.length > limit && last && { next: all.indexOf(last) + 1 }) });
    },
    listTurnAttempts: () => Promise.resolve([]),
    listTakenBack: ({ sinceMs }) => Promise.resolve(takenBack.filter(({ atMs }) => atMs >= sinceMs)),
    listInterventions: (runKey) => Promise.resolve(interventions[runKey] ?? []),
    getCall: (key) =>
      Promise.resolve(
        Object.values(calls)
          .flat()
          .find(({ row }) => row.key === key),
      ),
    getNode: (id) => Promise.resolve(nodes.find((node) => node.id === id)),
    close: () => Promise.resolve(),
  };
  return new Proxy(readable, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (value === undefined && name !== 'then') throw new Error(`the client asked the store for ${String(name)}`);
      return value;
    },
  }) as Store;
}
