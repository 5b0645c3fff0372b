import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PerdureError } from '../../src/client/perdure-error.js';
import { RunRetry } from '../../src/client/run-retry.js';
import type { ServerRun } from '../../src/client/run-server.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import type { Store } from '../../src/store/store.js';
import { runOf } from '../store/store-samples.js';
import { ScriptedServer } from './scripted-server.js';

let rootDir: string;
let store: Store;
beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'perdure-run-retry-'));
  store = await openSqliteStore({ path: join(rootDir, 'store.db') });
  await store.createRun(runOf('r1'));
});
afterEach(async () => {
  await store.close();
  await rm(rootDir, { recursive: true });
});

/** A run that was stuck in its first execution; somebody else's retry has just ended that, and a second one goes on. */
class TakenUpElsewhere extends ScriptedServer {
  readonly asked: string[] = [];
  #newest = 'first';

  override describe(): Promise<ServerRun> {
    const running = { id: 'wf-r1', taskQueue: 'q', status: 'running', startedAtMs: 0, historyEvents: 9 } as const;
    const run = { ...running, executionId: this.#newest };
    if (this.#newest === 'second') return Promise.resolve(run);
    return Promise.resolve({ ...run, stuck: { attempts: 7, reason: 'it does not replay' } });
  }

  override terminate({ id, executionId }: { id: string; executionId: string }): Promise<void> {
    this.asked.push(executionId);
    this.#newest = 'second';
    return Promise.reject(new PerdureError('run_not_found', `There is no open run "${id}".`));
  }
}

it('a stuck execution that another retry has ended meanwhile is not taken for the one that goes on since', async () => {
  const server = new TakenUpElsewhere();
  const retry = new RunRetry(store).start({ runId: 'wf-r1', runKey: 'r1' }, server, { endStuck: true });
  await expect(retry).rejects.toMatchObject({ code: 'run_open' });
  expect(server.asked).toEqual(['first']);
  expect(server.started).toEqual([]);
});
