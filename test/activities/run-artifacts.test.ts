import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runArtifacts } from '../../src/activities/run-artifacts.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import type { WorkerStore } from '../../src/store/shared-state.js';
import { commitOf, recordedOf, rendered, runOf, turnOf } from '../store/store-samples.js';

let folder: string;
let store: WorkerStore;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-artifacts-'));
  store = await openSqliteStore({ path: join(folder, 'store.db') });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

/** A run that was shown a long result, and the id of the whole. */
async function shown(runKey: string, workflowId: string, text: string): Promise<string> {
  const id = await store.putBody(new TextEncoder().encode(JSON.stringify(text)));
  await store.createRun({ ...runOf(runKey), workflowId });
  const content = JSON.stringify({ status: 'succeeded', data: text.slice(0, 3), truncated: { artifact_id: id } });
  await store.recordOutcomes([{ ...recordedOf(`${runKey}/c1.0`, runKey, 'c1.0'), rendered: rendered(content) }]);
  return id;
}

async function read(artifactId: string, runKey: string, workflowId: string): Promise<string | undefined> {
  const key = `${runKey}/c1.0`;
  const bytes = await runArtifacts(store)(artifactId, {
    ...{ runId: workflowId, callId: 'c2.0', key, signal: new AbortController().signal },
  });
  return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as string);
}

it('reads what the run was shown, and nothing of another run', async () => {
  const mine = await shown('r1', 'wf-1', 'my long result');
  const other = await shown('r2', 'wf-2', "another's long result");
  expect(await read(mine, 'r1', 'wf-1')).toBe('my long result');
  expect(await read(other, 'r1', 'wf-1')).toBeUndefined();
  expect(await read('0'.repeat(64), 'r1', 'wf-1')).toBeUndefined();
});

it('takes an id that a message merely holds for none: a model may write any', async () => {
  const other = await shown('r2', 'wf-2', "another's long result");
  await shown('r1', 'wf-1', 'mine');
  const echo = JSON.stringify({
    status: 'failed',
    message: `no result "${other}"`,
    data: { truncated: { artifact_id: other } },
  });
  await store.recordOutcomes([{ ...recordedOf('echo', 'r1', 'c3.0'), rendered: rendered(echo) }]);
  expect(await read(other, 'r1', 'wf-1')).toBeUndefined();
});

it("reads what its sub-agents were shown, at any depth, and they nothing of their parent's", async () => {
  const mine = await shown('r1', 'wf-1', 'of the parent');
  const child = await shown('child', 'wf-1/c1.0/c4.1', 'of the grandchild');
  expect(await read(child, 'r1', 'wf-1')).toBe('of the grandchild');
  expect(await read(mine, 'child', 'wf-1/c1.0/c4.1')).toBeUndefined();
  // Of another run, though its name begins alike.
  const alike = await shown('r10', 'wf-10', 'of another');
  expect(await read(alike, 'r1', 'wf-1')).toBeUndefined();
});

it('reads what stands in the conversation that it was forked from', async () => {
  const id = await shown('r1', 'wf-1', 'before the fork');
  await shown('fork', 'wf-fork', 'after it');
  const { head } = (await store.getRun('fork')) ?? { head: '' };
  const commit = commitOf(turnOf('fork', 1, head), 'x');
  const content = JSON.stringify({ status: 'succeeded', data: '…', truncated: { artifact_id: id } });
  commit.messages.unshift({
    ...{ role: 'tool', callId: 'c0.0', providerCallId: 'p', tool: 't', modelName: 't', content, failed: false },
  });
  await store.commitTurn(commit);
  expect(await read(id, 'fork', 'wf-fork')).toBe('before the fork');
});
