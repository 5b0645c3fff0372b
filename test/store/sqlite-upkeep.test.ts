import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkStore } from '../../src/store/check-store.js';
import { collectGarbage } from '../../src/store/collect-garbage.js';
import { measureStore } from '../../src/store/measure-store.js';
import { openStore } from '../../src/store/open-store.js';
import type { WorkerStore } from '../../src/store/shared-state.js';
import { openUpkeep, type UpkeepDatabase } from '../../src/store/upkeep-database.js';
import { describeUpkeepContract, type UpkeepPlace } from './upkeep-contract.js';

function sqlitePlace(): UpkeepPlace {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-upkeep-'));
  const path = join(folder, 'store.db');
  return {
    choice: { path },
    damage: async (sql) => {
      const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
      db.exec(sql);
      db.close();
    },
    remove: async () => rmSync(folder, { recursive: true }),
  };
}

describeUpkeepContract('SQLite', () => Promise.resolve(sqlitePlace()));

test('opens no store where there is none, and makes none', async () => {
  const path = join(tmpdir(), 'no-such-folder', 'store.db');
  await expect(openUpkeep({ path })).rejects.toMatchObject({ code: 'not_a_store' });
});

test.each([
  ['newer_schema', "UPDATE meta SET value = 99 WHERE name = 'schema_version'"],
  ['moved', "INSERT INTO meta (name, value) VALUES ('moved_to', 'postgres://elsewhere')"],
])('writes nothing more once the store is another’s (%s)', async (code, change) => {
  const place = sqlitePlace();
  const store = await openStore(place.choice);
  await store.putBody(new Uint8Array([1]));
  await store.close();
  const upkeep = await openUpkeep(place.choice);
  await place.damage(change);
  const collection = collectGarbage(upkeep, { closedRunsMs: null, graceMs: 0 });
  await expect(collection).rejects.toMatchObject({ name: 'StoreError', code });
  expect(await upkeep.query('SELECT id FROM bodies')).toHaveLength(1);
  await upkeep.close();
  await place.remove();
});

test('says what SQLite finds damaged in its file', async () => {
  const place = sqlitePlace();
  const store = await openStore(place.choice);
  for (let n = 0; n < 200; n += 1) await store.putBody(new Uint8Array(1_000).fill(n));
  await store.close();
  const { path } = place.choice as { path: string };
  const bytes = statSync(path).size;
  const { openSync, writeSync, closeSync } = await import('node:fs');
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(4_096, 0xff), 0, 4_096, Math.floor(bytes / 8_192) * 4_096);
  closeSync(file);
  const upkeep = await openUpkeep(place.choice);
  await expect(
    checkStore(upkeep).then(({ problems }) => {
      expect(problems[0]).toMatchObject({ kind: 'damaged' });
      throw new Error('told as a problem');
    }),
  ).rejects.toThrow(/told as a problem|damaged/);
  await upkeep.close();
  await place.remove();
});

describe('with a blob folder', () => {
  let folder: string;
  let blobs: string;
  let store: WorkerStore;
  let upkeep: UpkeepDatabase;
  const large = (fill: number) => new Uint8Array(150_000).fill(fill);

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'perdure-upkeep-'));
    blobs = join(folder, 'blobs');
    const choice = { path: join(folder, 'store.db'), blobs: { folder: blobs } };
    store = await openStore(choice);
    upkeep = await openUpkeep(choice);
  });
  afterEach(async () => {
    await store.close();
    await upkeep.close();
    rmSync(folder, { recursive: true });
  });

  const fileOf = (id: string) => join(blobs, id.slice(0, 2), id);
  const age = (path: string) => utimesSync(path, 1_000, 1_000);

  test('collects files that nothing refers to and what interrupted writes left, and no others', async () => {
    const { eventsFor, rendered, runOf } = await import('./store-samples.js');
    const [used, unused] = [await store.putBody(large(1)), await store.putBody(large(2))];
    await store.createRun(runOf('r1'));
    const { claim, begin, settle } = eventsFor('r1', 'c1.0');
    const outcome = { callId: 'c1.0', tool: 't', key: 'k', attempts: 1, elapsedMs: 1, status: 'succeeded' } as const;
    await store.applyLedger('k', claim('a'));
    await store.applyLedger('k', begin('a'));
    const result = { bodyId: used, bytes: 1, preview: '' };
    await store.applyLedger('k', settle('a', { ...outcome, result }), rendered('{}'));
    const torn = `${fileOf(used)}.abc.tmp`;
    writeFileSync(torn, 'torn');
    writeFileSync(join(blobs, 'README'), 'a person put this here');
    for (const path of [fileOf(used), fileOf(unused), torn]) age(path);
    const options = { closedRunsMs: null, graceMs: 3_600_000 };
    expect(await collectGarbage(upkeep, { ...options, dryRun: true })).toMatchObject({ files: 2, bytes: 150_004 });
    expect(await collectGarbage(upkeep, options)).toMatchObject({ files: 2, bytes: 150_004, bodies: 0 });
    expect(await store.getBody(used)).toHaveLength(150_000);
    expect(await store.getBody(unused)).toBeUndefined();
    expect(readdirSync(join(blobs, used.slice(0, 2)))).toEqual([used]);
    expect(readdirSync(blobs)).toContain('README');
    expect((await checkStore(upkeep)).problems).toEqual([]);
  });

  test('takes a file that is written again for young', async () => {
    const id = await store.putBody(large(1));
    age(fileOf(id));
    await store.putBody(large(1));
    expect(await collectGarbage(upkeep, { closedRunsMs: null, graceMs: 3_600_000 })).toMatchObject({ files: 0 });
    expect(await store.getBody(id)).toHaveLength(150_000);
  });

  test('finds a file that is not what its id says', async () => {
    const id = await store.putBody(large(1));
    writeFileSync(fileOf(id), large(3));
    const { problems } = await checkStore(upkeep, { deep: true });
    expect(problems).toEqual([{ kind: 'changed', id, words: expect.stringContaining(id) as string, runs: [] }]);
    expect((await measureStore(upkeep, { runs: 1 })).kinds).toContainEqual({
      kind: 'blob files',
      rows: 1,
      bytes: 150_000,
    });
  });
});
