import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Diagnosis } from '../../src/client/diagnosis.js';
import type { StoreCheck } from '../../src/store/check-store.js';
import type { Collection } from '../../src/store/collect-garbage.js';
import type { StoreSizes } from '../../src/store/measure-store.js';
import { describePostgres } from '../support/describe-postgres.js';
import { startPostgres } from '../support/postgres.js';

const bin = fileURLToPath(new URL('../../bin/perdure.js', import.meta.url));

/** A tool whose client retries by itself, and a key that is not set. */
const config = `
import { defineConfig, defineTool } from 'perdure';
export default defineConfig({
  model: 'scripted:script.json',
  secretEnv: ['SHOP_API_KEY'],
  tools: [defineTool({
    name: 'charge', description: 'Charge.', effect: { idempotent: 'key' }, breaker: { failures: 1, coolDownMs: 60_000 },
    input: { type: 'object', properties: {}, additionalProperties: false },
    retry: { external_service_unavailable: { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 1 } },
    async execute() {
      for (let attempt = 1; ; attempt += 1) {
        const response = await fetch(process.env.SHOP + '/charges', { method: 'POST', headers: { 'user-agent': 'got (https://github.com/sindresorhus/got)' } });
        if (response.status !== 503 || attempt === 3) throw Object.assign(new Error('down'), { status: response.status });
      }
    },
  })],
});`;
const script = JSON.stringify({ turns: [{ calls: [{ tool: 'charge', input: {} }] }, { text: 'It is down.' }] });

let dir: string;
let arrived = 0;
const shop = createServer((_request, response) => {
  arrived += 1;
  response.writeHead(503).end();
});

beforeAll(async () => {
  await once(shop.listen(0, '127.0.0.1'), 'listening');
  dir = await mkdtemp(join(tmpdir(), 'perdure-doctor-'));
  await writeFile(join(dir, 'perdure.config.ts'), config);
  await writeFile(join(dir, 'script.json'), script);
});
afterAll(async () => {
  shop.close();
  await rm(dir, { recursive: true, force: true });
});

function environment(): NodeJS.ProcessEnv {
  const { TEMPORAL_ADDRESS: _address, TEMPORAL_PROFILE: _profile, SHOP_API_KEY: _key, ...env } = process.env;
  return { ...env, NO_COLOR: '1', SHOP: `http://127.0.0.1:${String((shop.address() as AddressInfo).port)}` };
}

async function perdure(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return await perdureWith({}, ...args);
}

async function perdureWith(
  env: NodeJS.ProcessEnv,
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> {
  const run = promisify(execFile)(process.execPath, [bin, ...args], { cwd: dir, env: { ...environment(), ...env } });
  return await run.then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      out: error.stdout,
      err: error.stderr,
    }),
  );
}

async function json<T>(...args: string[]): Promise<T> {
  return JSON.parse((await perdure(...args, '--json')).out) as T;
}

const statusOf = ({ findings }: Diagnosis) => findings.map(({ subject, status }) => `${subject} ${status}`);

it('doctor names each thing that is missing before the first run, and what to type', async () => {
  const { code, out } = await perdure('doctor');
  expect(out).toMatch(/ok +versions +perdure \d/);
  expect(out).toMatch(/ok +configuration +.* loads, 1 tool\n/);
  expect(out).toMatch(/ok +model +scripted:/);
  expect(out).toMatch(/warning +credentials +SHOP_API_KEY is not set here\n +→ export SHOP_API_KEY=/);
  expect(out).toMatch(/warning +store +.*there is no such file.*/);
  expect(out).toMatch(/problem +server +there is none/);
  expect(out).toMatch(/→ perdure dev/);
  expect(code).toBe(2);
});

it('doctor and run say within three seconds that nobody listens at TEMPORAL_ADDRESS, and what to do about that', async () => {
  for (const args of [['doctor'], ['run', 'charge it'], ['worker']]) {
    const askedAtMs = performance.now();
    const { code, out, err } = await perdureWith({ TEMPORAL_ADDRESS: '127.0.0.1:1' }, ...args);
    // Of a busy machine, more than half goes into starting Node.
    expect(performance.now() - askedAtMs).toBeLessThan(6_000);
    expect(out + err).toContain('answers at 127.0.0.1:1 (chosen by TEMPORAL_ADDRESS): the connection is refused');
    expect(out + err).toContain('Start that server, correct TEMPORAL_ADDRESS, or unset it');
    // Which cannot help while another address is configured.
    expect((out + err).split('no Temporal server')[1]).not.toContain('perdure dev');
    expect(code).toBe(2);
  }
});

it('doctor finds a configuration that does not load', async () => {
  await writeFile(join(dir, 'broken.config.ts'), 'export default { tools: 7 };');
  const { code, out } = await perdure('--config', 'broken.config.ts', 'doctor');
  expect(out).toMatch(/problem +configuration +tools: expected a list of tools, got 7/);
  expect(code).toBe(2);
});

it('with server and worker, after a run: all is well but what the records tell of retries and breakers', async () => {
  const dev = spawn(process.execPath, [bin, 'dev'], { cwd: dir, env: environment() });
  let said = '';
  dev.stderr.on('data', (data: Buffer) => (said += data.toString()));
  const ended = once(dev, 'close');
  try {
    await vi.waitFor(() => expect(said).toContain('Ctrl-C stops.'), { timeout: 60_000, interval: 100 });
    expect(await perdure('run', '--id', 'down', '--follow', 'charge it')).toMatchObject({
      code: 0,
      out: 'It is down.\n',
    });
    expect(arrived).toBe(6);
    const diagnosis = await json<Diagnosis>('doctor');
    expect(statusOf(diagnosis)).toEqual([
      ...['versions ok', 'configuration ok', 'model ok', 'credentials warning', 'store ok', 'store ok', 'store ok'],
      ...['disk ok', 'breaker warning', 'retries warning', 'server ok', 'namespace ok', 'search ok', 'workers ok'],
    ]);
    expect(diagnosis.findings.find(({ subject }) => subject === 'retries')).toMatchObject({
      words: expect.stringMatching(
        /tool charge: its client \(got\).* executor 2 × client 3, 2 attempts were 6 at the backend/,
      ) as string,
      next: expect.stringContaining('retry: { limit: 0 }') as string,
    });
    expect(diagnosis.findings.find(({ subject }) => subject === 'breaker')?.words).toContain('charge');
    expect((await perdure('doctor')).code).toBe(0);

    const { out: stats } = await perdure('stats');
    expect(stats).toMatch(/charge .* 3×/);
    expect(stats).toContain('tool charge: its client (got) retries by itself');
    expect((await perdure('show', 'down')).out).toContain('2 starts, 6 attempts seen');
    const { out: shown } = await perdure('show', 'down', '--call', 'c1.0');
    expect(shown).toMatch(/seen by backend +6 attempts/);
    expect(shown).toMatch(/3 × POST 127\.0\.0\.1:\d+\/charges after 503, 503: got retried by itself; got\(url/);
  } finally {
    dev.kill('SIGTERM');
    await ended;
  }
});

it('store check and stats tell what is there', async () => {
  const check = await json<StoreCheck>('store', 'check', '--deep');
  expect(check).toMatchObject({ runs: 1, calls: 1, problems: [] });
  expect(await perdure('store', 'check')).toMatchObject({
    code: 0,
    out: expect.stringContaining('Nothing is missing.') as string,
  });
  const sizes = await json<StoreSizes>('store', 'stats');
  expect(sizes.biggestRuns).toMatchObject([{ workflowId: 'down', status: 'completed', turns: 2, calls: 1 }]);
  expect((await perdure('store', 'stats')).out).toMatch(/BIGGEST RUNS +STATUS[^]*down +completed +2 +1/);
});

it('store gc says what would go, keeps all runs unless told, and takes those that ended long ago', async () => {
  expect(await json<Collection>('store', 'gc')).toMatchObject({ runs: [] });
  expect((await perdure('store', 'gc')).err).toContain('All runs are kept: set retention.closedRunsMs');
  expect((await perdure('store', 'gc', '--grace', '5m')).err).toContain('1h at least');
  const dry = await json<Collection>('store', 'gc', '--closed-runs', '0s', '--dry-run');
  expect(dry).toMatchObject({ dryRun: true, runs: [{ workflowId: 'down' }], doubtful: [], turns: 2, calls: 1 });
  expect((await perdure('store', 'gc', '--closed-runs', '0s', '--dry-run')).err).toBe(
    'No Temporal server was found.\nRuns count as ended where the store says so; those that it takes for running stay.\n',
  );
});

it('store check names a missing node and ends with 2; doctor does too', async () => {
  const path = join(dir, '.perdure', 'store.db');
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  const node = db.prepare('SELECT id FROM nodes WHERE parent IS NULL').get() as { id: string };
  const kept = db.prepare('SELECT id, parent, body, touched_at_ms FROM nodes WHERE id = ?').get(node.id) as Record<
    string,
    string
  >;
  db.prepare('DELETE FROM nodes WHERE id = ?').run(node.id);
  const { code, out } = await perdure('store', 'check');
  expect(out).toContain(`missing_node ${node.id}`);
  expect(out).toContain('(run down)');
  expect(code).toBe(2);
  expect((await perdure('doctor')).out).toContain(`missing_node ${node.id}`);
  db.prepare('INSERT INTO nodes (id, parent, body, touched_at_ms) VALUES (?, NULL, ?, ?)').run(
    node.id,
    kept['body'] ?? '',
    Number(kept['touched_at_ms']),
  );
  db.close();
});

describePostgres('with PostgreSQL', () => {
  it('store copy moves the store there, tells how far it is, and the file refuses afterwards', async () => {
    const server = await startPostgres();
    try {
      const url = server.url(await server.createDatabase());
      const { code, out, err } = await perdure('store', 'copy', '--to', url);
      expect(out).toMatch(/^Store [0-9a-f]+ was moved: \d+ rows in \d+ tables\.\n$/);
      expect(err).toMatch(/calls: 1 of 1 row\n/);
      expect(code).toBe(0);
      expect((await perdure('store', 'check')).err).toContain('it was moved to');
      const { stdout } = await promisify(execFile)(process.execPath, [bin, 'store', 'check', '--deep', '--json'], {
        cwd: dir,
        env: { ...environment(), PERDURE_STORE: url },
      });
      expect(JSON.parse(stdout)).toMatchObject({ runs: 1, calls: 1, problems: [] });
    } finally {
      await server.stop();
    }
  });
});
