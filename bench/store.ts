/**
 * What a durable write to a store costs, by how many are in flight at once: SQLite in a file, PostgreSQL on this machine
 * (its own server, started for this, with fsync) where there is one.
 *
 *     node --import ./test/typescript-resolver.ts bench/store.ts [SECONDS]
 *
 * A write here is a whole request: the event loop, the thread, the ledger's transition, the commit synced to disk, and the
 * answer. `putBody` is the plainest; `claim` reads a row, runs the transition and writes it; `turn` commits a model turn of two messages
 * and a refused call.
 *
 * Measured on 2 cores that other work shared (load 3), virtual disk, Node 24.21, SQLite 3.53:
 *
 *     putBody    1 in flight:   2482 writes/s,  403 µs a write, 99 % answered within 1.1 ms
 *     putBody    8 in flight:  10289 writes/s,   97 µs a write, 99 % answered within 4.8 ms
 *     putBody   64 in flight:  19011 writes/s,   53 µs a write, 99 % answered within 14.7 ms
 *     claim      1 in flight:   3489 writes/s,  287 µs a write, 99 % answered within 0.5 ms
 *     claim      8 in flight:  12608 writes/s,   79 µs a write, 99 % answered within 1.6 ms
 *     claim     64 in flight:  25189 writes/s,   40 µs a write, 99 % answered within 12.7 ms
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgresStore } from '../src/store/postgres-store.js';
import { openSqliteStore } from '../src/store/sqlite-store.js';
import type { Store } from '../src/store/store.js';
import { commitOf, recordedOf, runOf, turnOf } from '../test/store/store-samples.js';
import { postgresMissing, startPostgres } from '../test/support/postgres.js';

const durationMs = Number(process.argv[2] ?? 3) * 1_000;
const folder = mkdtempSync(join(tmpdir(), 'perdure-bench-'));

type Write = (store: Store, number: number) => Promise<unknown>;

function putBody(store: Store, number: number): Promise<unknown> {
  return store.putBody(Buffer.from(`body ${String(number)} ${'x'.repeat(500)}`));
}

function claim(store: Store, number: number): Promise<unknown> {
  const call = {
    runKey: 'r',
    callId: `c${String(number)}.0`,
    tool: 't',
    digest: 'd',
    effect: { kind: 'once' as const },
  };
  const event = { type: 'claim' as const, call, token: 'a', leaseMs: 10_000, graceMs: 0 };
  // Keys are hashes, so rows land all over the index.
  return store.applyLedger(`k1:${createHash('sha256').update(String(number)).digest('hex')}`, event);
}

/** Each turn is of a run of its own, as the turns of one run come one after another. */
async function turn(store: Store, number: number): Promise<unknown> {
  const runKey = `run-${String(number)}`;
  const { head } = await store.createRun(runOf(runKey));
  return await store.commitTurn(
    commitOf(turnOf(runKey, 1, head), 'x'.repeat(500), [recordedOf(runKey, runKey, 'c1.0')]),
  );
}

/** Keeps `inFlight` writes going for the duration; prints rate, mean and the slow end of one write's latency. */
async function measure(name: string, store: Store, inFlight: number, write: Write): Promise<void> {
  const latencies: number[] = [];
  let number = 0;
  const startedAt = performance.now();
  const lane = async () => {
    while (performance.now() - startedAt < durationMs) {
      const askedAt = performance.now();
      await write(store, number++);
      latencies.push(performance.now() - askedAt);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const elapsedMs = performance.now() - startedAt;
  latencies.sort((a, b) => a - b);
  const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? NaN;
  const perSecond = Math.round((latencies.length / elapsedMs) * 1_000);
  const microseconds = ((elapsedMs / latencies.length) * 1_000).toFixed(0);
  console.log(
    `${name.padEnd(18)} ${String(inFlight).padStart(3)} in flight: ${String(perSecond).padStart(6)} writes/s, ` +
      `${microseconds.padStart(4)} µs a write, 99 % answered within ${p99.toFixed(1)} ms`,
  );
}

async function measureAll(kind: string, open: (name: string) => Promise<Store>): Promise<void> {
  for (const [name, write] of Object.entries({ putBody, claim, turn })) {
    for (const inFlight of [1, 8, 64]) {
      const store = await open(`${name}_${String(inFlight)}`);
      await measure(`${kind} ${name}`, store, inFlight, write);
      await store.close();
    }
  }
}

try {
  await measureAll('SQLite', (name) => openSqliteStore({ path: join(folder, `${name}.db`) }));
} finally {
  rmSync(folder, { recursive: true });
}
if (postgresMissing === undefined) {
  const server = await startPostgres({ fsync: true });
  try {
    const connectionString = server.url('postgres');
    await measureAll('PostgreSQL', (name) => openPostgresStore({ connectionString, schema: name.toLowerCase() }));
  } finally {
    await server.stop();
  }
}
