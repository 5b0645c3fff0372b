/**
 * What an event of shared state costs (a breaker's report, a lock), beside a durable write of the same store.
 *
 *     node --import ./test/typescript-resolver.ts bench/shared-state.ts [SECONDS]
 *
 * Measured on 2 cores that other work shared (load 14), virtual disk, Node 24.21; in brackets with each commit synced to
 * disk, which is why these are not:
 *
 *     breaker, answered    1 in flight:    39 µs each      64 in flight:     9 µs each
 *     lock, renewed        1 in flight:   154 µs (276)     64 in flight:    21 µs (65)
 *     durable write        1 in flight:  1949 µs each      64 in flight:   597 µs each
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../src/store/sqlite-store.js';
import type { SharedState } from '../src/store/shared-state.js';
import type { Store } from '../src/store/store.js';

const durationMs = Number(process.argv[2] ?? 2) * 1_000;
const folder = mkdtempSync(join(tmpdir(), 'perdure-bench-'));

const kinds: Record<string, (store: Store & SharedState, number: number) => Promise<unknown>> = {
  'breaker, answered': (store) => store.applyShared('search', { kind: 'breaker', type: 'answered' }),
  'lock, renewed': (store) =>
    store.applyShared('account', { kind: 'lock', type: 'take', token: 'a', leaseMs: 10_000, permits: 1 }),
  'durable write': (store, number) => store.putBody(Buffer.from(`body ${String(number)} ${'x'.repeat(500)}`)),
};

async function measure(name: string, inFlight: number): Promise<void> {
  const store = await openSqliteStore({ path: join(folder, `${name}-${String(inFlight)}.db`) });
  let number = 0;
  const startedAt = performance.now();
  const lane = async () => {
    while (performance.now() - startedAt < durationMs) await kinds[name]?.(store, number++);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const micros = ((performance.now() - startedAt) * 1_000) / number;
  await store.close();
  console.log(`${name.padEnd(18)} ${String(inFlight).padStart(3)} in flight: ${micros.toFixed(0).padStart(5)} µs each`);
}

for (const name of Object.keys(kinds)) for (const inFlight of [1, 64]) await measure(name, inFlight);
rmSync(folder, { recursive: true });
