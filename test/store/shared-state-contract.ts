/** What every store must do with the state that runs and workers share, whatever it is built on. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SharedState } from '../../src/store/shared-state.js';

/** One place where shared state lives, empty at first. */
export interface SharedStatePlace {
  open(): Promise<SharedState & { close(): Promise<void> }>;
  /** URL of a module whose `open(location)` opens it in another process. */
  opener: string;
  location: string;
  remove(): Promise<void>;
}

const child = fileURLToPath(new URL('./store-child.ts', import.meta.url));
const limits = { failures: 5, windowMs: 60_000, coolDownMs: 30_000 };
const failed = { kind: 'breaker', type: 'failed', token: 'a', attempts: 1, calls: 1, limits } as const;
const admit = { kind: 'breaker', type: 'admit', token: 'a', leaseMs: 10_000 } as const;
const lock = (token: string) => ({ kind: 'lock', type: 'take', token, leaseMs: 10_000, permits: 1 }) as const;

export function describeSharedStateContract(
  name: string,
  makePlace: () => SharedStatePlace | Promise<SharedStatePlace>,
): void {
  describe(`${name}: the contract of shared state`, () => {
    let place: SharedStatePlace;
    let opened: Awaited<ReturnType<SharedStatePlace['open']>>[];

    beforeEach(async () => {
      place = await makePlace();
      opened = [];
    });

    afterEach(async () => {
      await Promise.all(opened.map((handle) => handle.close()));
      await place.remove();
    });

    async function open(): Promise<SharedState> {
      const handle = await place.open();
      opened.push(handle);
      return handle;
    }

    test('what one handle finds out, another one is told', async () => {
      const [one, other] = [await open(), await open()];
      for (let number = 0; number < 4; number += 1) await one.applyShared('search', failed);
      expect(await other.applyShared('search', admit)).toEqual({ type: 'closed' });
      await other.applyShared('search', failed);
      expect(await one.applyShared('search', admit)).toMatchObject({ type: 'open' });
    });

    test('names and kinds do not meet', async () => {
      const store = await open();
      expect(await store.applyShared('x', lock('a'))).toMatchObject({ type: 'held' });
      expect(await store.applyShared('y', lock('b'))).toMatchObject({ type: 'held' });
      expect(await store.applyShared('x', admit)).toEqual({ type: 'closed' });
      expect(await store.applyShared('x', { kind: 'wait', waitMs: 1, budgetMs: 5 })).toEqual({
        granted: true,
        spentMs: 1,
      });
      expect(await store.applyShared('x', lock('b'))).toMatchObject({ type: 'busy' });
    });

    test('events that are sent at once are applied one after another', async () => {
      const store = await open();
      const failures = Array.from({ length: 6 }, () => store.applyShared('search', failed));
      expect((await Promise.all(failures)).map(({ type }) => type)).toEqual([
        'closed',
        'closed',
        'closed',
        'closed',
        'open',
        'open',
      ]);
    });

    test('takes any text as a name', async () => {
      const store = await open();
      const names = ['', "it's; DROP TABLE shared", 'x/y', 'lock/x', 'ü'.repeat(200), 'x'.repeat(5_000), 'NUL \0'];
      for (const one of names) expect(await store.applyShared(one, lock('a'))).toMatchObject({ type: 'held' });
      for (const one of names) expect(await store.applyShared(one, lock('b'))).toMatchObject({ type: 'busy' });
    });

    test('is there after closing and opening', async () => {
      const first = await place.open();
      await first.applyShared('account', lock('a'));
      await first.close();
      expect(await (await open()).applyShared('account', lock('b'))).toMatchObject({ type: 'busy' });
    });

    test(
      'several processes together get no more than one limiter gives, and one lock at a time',
      { timeout: 60_000 },
      async () => {
        const store = await open();
        const folder = mkdtempSync(join(tmpdir(), 'perdure-shared-'));
        try {
          const startedAt = performance.now();
          const runs = await Promise.all(
            Array.from({ length: 3 }, async () => {
              const args = [...process.execArgv, child, place.opener, place.location, 'sharing', folder];
              const { stdout } = await promisify(execFile)(process.execPath, args);
              return JSON.parse(stdout) as { granted: number; held: number; overlaps: number };
            }),
          );
          const sum = (field: 'granted' | 'held' | 'overlaps') => runs.reduce((total, one) => total + one[field], 0);
          const refilled = ((performance.now() - startedAt) * 541) / 60_000;
          expect(sum('granted')).toBeGreaterThanOrEqual(60);
          expect(sum('granted')).toBeLessThanOrEqual(60 + refilled);
          expect(sum('overlaps')).toBe(0);
          expect(sum('held')).toBeGreaterThan(0);
          expect(await store.applyShared('account', lock('after'))).toMatchObject({ type: 'held' });
        } finally {
          rmSync(folder, { recursive: true });
        }
      },
    );
  });
}
