import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cancelCommand } from '../../src/cli/commands/cancel.js';
import { retryCommand } from '../../src/cli/commands/retry.js';
import { runCommand } from '../../src/cli/commands/run.js';
import { LocalPlatform } from '../../src/cli/local-platform.js';
import { resolveStore } from '../../src/config/resolve-store.js';
import * as connection from '../../src/server/connection.js';
import { freePort } from '../../src/server/free-port.js';
import { openStore } from '../../src/store/open-store.js';
import { endOf, runOf } from '../store/store-samples.js';

vi.mock(import('../../src/server/connection.js'), async (original) => {
  const real = await original();
  return { ...real, resolveServer: vi.fn(real.resolveServer), openServer: vi.fn(real.openServer) };
});

let dir: string;
let platform: LocalPlatform;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'perdure-platform-'));
  await writeFile(join(dir, 'perdure.config.mjs'), 'export default { tools: [] };');
  platform = new LocalPlatform({ cwd: dir, env: { HOME: dir }, version: '0.0.0' });
  vi.mocked(connection.openServer).mockRejectedValue(new Error('another server was started'));
});
afterEach(async () => {
  vi.resetAllMocks();
  await rm(dir, { recursive: true, force: true });
});

async function storeRun(runKey: string, end?: ReturnType<typeof endOf>): Promise<void> {
  const store = await openStore(resolveStore(undefined, { rootDir: dir, env: {} }).store);
  await store.createRun(runOf(runKey));
  if (end) await store.finishRun(runKey, end);
  await store.close();
}

it('does not start a server in the place of one that has ended since it was found', async () => {
  const address = `127.0.0.1:${await freePort()}`;
  vi.mocked(connection.resolveServer).mockResolvedValueOnce({
    kind: 'dev',
    source: '.perdure/dev.json',
    advice: 'It has just ended.',
    address,
    namespace: 'default',
    client: { address, tls: false },
    worker: { address, tls: false },
  });
  await expect(runCommand(platform, 'refund', { follow: false, id: 'nobody-runs-it' })).rejects.toThrow(
    `no Temporal server answers at ${address} (chosen by .perdure/dev.json): the connection is refused`,
  );
  expect(connection.openServer).not.toHaveBeenCalled();
});

describe('without a server and without a model', () => {
  beforeEach(() => {
    vi.mocked(connection.resolveServer).mockResolvedValue({ kind: 'none', sought: '127.0.0.1:7233' });
  });

  it('a run is told how to give one', async () => {
    await expect(runCommand(platform, 'refund', {})).rejects.toMatchObject({
      code: 'no_model',
      next: 'Set model in perdure.config.ts, or OPENAI_API_KEY, or give one: perdure run --model provider:model "…"',
    });
  });

  it('a retry is told so by its own option', async () => {
    await storeRun('r1', endOf('failed'));
    await expect(retryCommand(platform, 'wf-r1', {})).rejects.toMatchObject({
      code: 'no_model',
      next: 'Set model in perdure.config.ts, or OPENAI_API_KEY, or give one: perdure retry wf-r1 --model provider:model',
    });
  });

  it('cancelling a paused run, which takes no model, names none to give it', async () => {
    await storeRun('r1');
    await expect(cancelCommand(platform, 'wf-r1', {})).rejects.toMatchObject({
      code: 'no_model',
      next:
        'Set model in perdure.config.ts, or OPENAI_API_KEY, then: perdure cancel wf-r1 - ' +
        'other paused runs of this folder go on meanwhile, and would fail without one.',
    });
    expect(connection.openServer).not.toHaveBeenCalled();
  });
});
