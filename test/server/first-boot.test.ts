import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { beginBoot } from '../../src/server/first-boot.js';

let folder: string;
let dbPath: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-boot-'));
  dbPath = join(folder, 'temporal.db');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the database of an embedded server', () => {
  it('is thrown away where its first boot never came to an end', async () => {
    await beginBoot(dbPath);
    await writeFile(dbPath, 'half');
    await writeFile(`${dbPath}-wal`, 'half');
    const ended = await beginBoot(dbPath);
    expect([existsSync(dbPath), existsSync(`${dbPath}-wal`)]).toEqual([false, false]);
    await writeFile(dbPath, 'whole');
    await ended();
    await beginBoot(dbPath);
    expect(await readFile(dbPath, 'utf8')).toBe('whole');
  });

  it('stays where it was there before, whatever becomes of this boot', async () => {
    await writeFile(dbPath, 'runs of a year');
    await beginBoot(dbPath);
    await beginBoot(dbPath);
    expect(await readFile(dbPath, 'utf8')).toBe('runs of a year');
  });
});
