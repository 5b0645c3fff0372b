/** Moments of a run that its store tells of, for kills: each is looked for every few milliseconds. */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Moment, Scene } from '../../../examples/shop/demo/kills.js';
import { openSqliteStore } from '../../../src/store/sqlite-store.js';
import type { CallRecord, RunRecord } from '../../../src/store/records.js';
import type { Store } from '../../../src/store/store.js';

const lookEveryMs = 2;

/** The run as its store knows it. */
export interface Look {
  run: RunRecord;
  turns: Awaited<ReturnType<Store['listTurns']>>;
  calls: CallRecord[];
}

/** The moment when `isThere` first says so of what the store knows. */
export function whenStored(words: string, isThere: (look: Look) => boolean): Moment {
  return {
    words,
    async reached(scene, over) {
      const store = await openWorkersStore(scene, over);
      try {
        while (!over.aborted) {
          const look = await lookAt(store, scene.runId);
          if (look && isThere(look)) return;
          await sleep(lookEveryMs);
        }
      } finally {
        await store.close();
      }
    },
  };
}

export async function lookAt(store: Store, runId: string): Promise<Look | undefined> {
  const [run] = await store.listRuns({ workflowIdPrefix: runId, limit: 1 });
  if (!run) return undefined;
  const [turns, calls] = await Promise.all([store.listTurns(run.runKey), store.listCalls(run.runKey)]);
  return { run, turns, calls };
}

/** Waits until the demo's command or worker has made the store. */
async function openWorkersStore({ storePath }: Scene, over: AbortSignal): Promise<Store> {
  while (!existsSync(storePath) && !over.aborted) await sleep(lookEveryMs);
  return await openSqliteStore({ path: storePath });
}

/** The run has been taken up, and no model was asked. */
export const rightAfterStart = whenStored('the run had just started', ({ turns }) => turns.length === 0);

/** A start of that tool's body has failed, and the next one is waited for. */
export function whileRetryWaits(tool: string): Moment {
  return whenStored(`${tool} was to be tried again`, ({ calls }) =>
    calls.some(
      ({ row }) => row.tool === tool && row.starts > 0 && !row.begun && !row.outcome && row.token === undefined,
    ),
  );
}

/** All calls of that step have their outcomes, and the next turn has no answer. */
export function afterStep(step: number): Moment {
  return whenStored(`step ${step} was over`, ({ turns, calls }) => {
    const last = turns.at(-1);
    if (last?.turn.step !== step) return false;
    const keys = last.result.calls.flatMap((call) => (call.status === 'ready' ? [call.call.key] : []));
    const ended = new Set(calls.filter(({ row }) => row.outcome).map(({ row }) => row.key));
    return keys.every((key) => ended.has(key));
  });
}

/** The model has given its last answer, and the run's end is not stored. */
export const justBeforeTheEnd = whenStored('the last answer was there', ({ run, turns }) => {
  return run.status === 'running' && turns.at(-1)?.result.calls.length === 0;
});
