import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { contentOperations } from '../../src/store/sqlite-content.js';
import { openDatabase, type SqliteDatabase } from '../../src/store/sqlite-database.js';
import { groupCommit, type DataRequest } from '../../src/store/sqlite-group-commit.js';

let folder: string;
let database: SqliteDatabase;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-store-'));
  database = openDatabase({ path: join(folder, 'store.db'), busyTimeoutMs: 100 });
});

afterEach(() => {
  database.db.close();
  rmSync(folder, { recursive: true });
});

function putBodies(...sizes: number[]): DataRequest[] {
  return sizes.map((size, id) => ({ id, method: 'putBody', args: [new Uint8Array(size).fill(id)] }));
}

function commits() {
  const content = contentOperations(database, Date.now);
  return groupCommit(database, ({ args }) => content.putBody(args[0] as Uint8Array));
}

function bodies(): unknown {
  return database.db.prepare('SELECT count(*) AS number FROM bodies').get()?.['number'];
}

test('commits all requests of a batch in one transaction', () => {
  const answers = commits().write(putBodies(1, 2, 3));
  expect(answers.every((answer) => 'value' in answer)).toBe(true);
  expect(database.db.isTransaction).toBe(false);
  expect(bodies()).toBe(3);
});

test('undoes a request that fails half-way, and it alone', () => {
  const content = contentOperations(database, Date.now);
  const { write } = groupCommit(database, ({ id, args }) => {
    content.putBody(args[0] as Uint8Array);
    if (id === 1) throw new TypeError('half-way');
    return id;
  });
  expect(write(putBodies(1, 2, 3))).toMatchObject([
    { id: 0, value: 0 },
    { id: 1, error: { code: 'invalid', message: expect.stringContaining('half-way') as string } },
    { id: 2, value: 2 },
  ]);
  expect(bodies()).toBe(2);
});

test('promises nothing of a batch during which the disk became full, and works again after it', () => {
  const pages = Number(database.db.prepare('PRAGMA page_count').get()?.['page_count']);
  database.db.exec(`PRAGMA max_page_count = ${String(pages + 20)}`);
  const { write } = commits();
  const answers = write(putBodies(10, 1_000_000, 10));
  const succeeded = answers.filter((answer) => 'value' in answer);
  expect(answers).toHaveLength(3);
  expect(answers[1]).toMatchObject({
    error: { code: 'unavailable', message: expect.stringContaining('full') as string },
  });
  expect(bodies()).toBe(succeeded.length);
  database.db.exec('PRAGMA max_page_count = 1073741823');
  expect(write(putBodies(1_000_000))).toMatchObject([{ value: expect.any(String) as string }]);
});
