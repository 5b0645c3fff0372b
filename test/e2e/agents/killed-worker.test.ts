import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openParts } from '../../../src/client/open-parts.js';
import { Perdure } from '../../../src/client/perdure-client.js';
import { resolveConfig } from '../../../src/config/resolve-config.js';
import type { AgentsChildOptions } from '../../support/agents-child.js';
import { temporalServer } from '../../support/temporal-server.js';

it('loses its worker while two agents run, and every effect of theirs happens once', async () => {
  await using scene = await openScene();
  const first = await scene.startWorker({ noteMs: 60_000 });
  const run = await scene.perdure.start('Have both write.');
  // Both agents are in the middle of their first note.
  await expect.poll(() => scene.files('.start-'), { timeout: 30_000 }).toHaveLength(2);
  await first.kill();
  await scene.startWorker({ noteMs: 10 });
  expect(await run.result()).toMatchObject({ status: 'completed', answer: 'both wrote', counters: { calls: 6 } });
  await scene.expectEffectsOnce(run.runId);
}, 90_000);

it('dies after an effect of an agent, by its own fault injection, and the effect is not repeated', async () => {
  await using scene = await openScene();
  const first = await scene.startWorker({ noteMs: 10, faults: 'note:crash-after-effect@2' });
  const run = await scene.perdure.start('Have both write.');
  expect(await first.ended).toEqual([null, 'SIGKILL']);
  const before = await scene.files('.note');
  expect(before.length).toBeGreaterThan(0);
  await scene.startWorker({ noteMs: 10 });
  expect((await run.result()).status).toBe('completed');
  // A keyed tool is asked again with the same key: what the backend has is what counts.
  expect(await scene.files('.note')).toHaveLength(4);
  expect(await scene.files('.note')).toEqual(expect.arrayContaining(before));
}, 90_000);

async function openScene() {
  const { address, namespace, workflowBundle } = temporalServer();
  await using opening = new AsyncDisposableStack();
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-agents-'));
  opening.defer(() => rm(rootDir, { recursive: true, force: true }));
  const config = await resolveConfig({ tools: [], store: { path: 'store.db' } }, { rootDir, env: {} });
  const connection = { address, tls: false };
  const perdure = new Perdure(
    await openParts(config, {
      kind: 'configured',
      source: 'test',
      address,
      namespace,
      client: connection,
      worker: connection,
    }),
  );
  opening.defer(() => perdure.close());
  const workers: { process: ChildProcess; ended: Promise<unknown> }[] = [];
  opening.defer(async () => {
    for (const worker of workers) {
      worker.process.kill('SIGTERM');
      await worker.ended;
    }
  });
  const files = async (part: string) => (await readdir(rootDir)).filter((name) => name.includes(part)).sort();
  const resources = opening.move();
  return {
    perdure,
    files,
    async startWorker(more: Pick<AgentsChildOptions, 'noteMs'> & { faults?: string }) {
      const given: AgentsChildOptions = {
        address,
        namespace,
        rootDir,
        bundlePath: workflowBundle,
        faults: '',
        ...more,
      };
      const resolver = new URL('../../typescript-resolver.ts', import.meta.url).href;
      const program = fileURLToPath(new URL('../../support/agents-child.ts', import.meta.url));
      const child = spawn(process.execPath, ['--import', resolver, program], {
        env: { ...process.env, PERDURE_CHILD: JSON.stringify(given), PERDURE_LOG_LEVEL: 'error' },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
      workers.push({ process: child, ended });
      const ready = once(createInterface({ input: child.stdout }), 'line');
      const first = await Promise.race([ready.then(() => 'ready' as const), ended]);
      if (first !== 'ready') throw new Error(`the worker ended before it was ready (${first.join()})`);
      return {
        ended,
        async kill() {
          child.kill('SIGKILL');
          await ended;
        },
      };
    },
    /** Four notes, each written once and under a key of its own; two calls of agents, each told once. */
    async expectEffectsOnce(runId: string) {
      const notes = await files('.note');
      const texts = await Promise.all(notes.map((name) => readFile(join(rootDir, name), 'utf8')));
      expect(texts.sort()).toEqual(['a 1', 'a 2', 'b 1', 'b 2']);
      const { steps } = await (await perdure.get(runId)).describe();
      const calls = steps.flatMap((step) => step.calls);
      expect(calls.map(({ callId, modelSees }) => [callId, modelSees])).toEqual([
        ['c1.0', '{"status":"succeeded","data":"wrote a"}'],
        ['c1.1', '{"status":"succeeded","data":"wrote b"}'],
      ]);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
