/**
 * What a durable write to the SQLite store costs, by how many are in flight at once.
 *
 *     node --import ./test/typescript-resolver.ts bench/store.ts [SECONDS]
 *
 * A write here is a whole request: the event loop, the thread, the ledger's transition, the commit synced to disk, and the
 * answer. `putBody` is the plainest; `claim` reads a row, runs the transition and writes it.
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
import { openSqliteStore } from '../src/store/sqlite-store.js';
import type { Store } from '../src/store/store.js';

const durationMs = Number(process.argv[2] ?? 3) * 1_000;
const folder = mkdtempSync(join(tmpdir(), 'perdure-bench-'));

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

/** Keeps `inFlight` writes going for the duration; prints rate, mean and the slow end of one write's latency. */
async function measure(name: string, inFlight: number, write: typeof putBody): Promise<void> {
  const store = await openSqliteStore({ path: join(folder, `${name}-${String(inFlight)}.db`) });
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
  await store.close();
  latencies.sort((a, b) => a - b);
  const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? NaN;
  const perSecond = Math.round((latencies.length / elapsedMs) * 1_000);
  const microseconds = ((elapsedMs / latencies.length) * 1_000).toFixed(0);
  console.log(
    `${name.padEnd(8)} ${String(inFlight).padStart(3)} in flight: ${String(perSecond).padStart(6)} writes/s, ` +
      `${microseconds.padStart(4)} µs a write, 99 % answered within ${p99.toFixed(1)} ms`,
  );
}

try {
  for (const inFlight of [1, 8, 64]) await measure('putBody', inFlight, putBody);
  for (const inFlight of [1, 8, 64]) await measure('claim', inFlight, claim);
} finally {
  rmSync(folder, { recursive: true });
}
