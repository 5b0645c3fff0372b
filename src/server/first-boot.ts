import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';

/**
 * A server that is killed in its first boot leaves a database without its tables, which no later start mends. Until the first
 * boot has come to its end a file beside the database says so; nobody can have used a server that never answered, so such a
 * database is thrown away. Call it under the folder's lock. Returns what to do once the server answers.
 */
export async function beginBoot(dbPath: string): Promise<() => Promise<void>> {
  const marker = `${dbPath}.unfinished`;
  if (existsSync(marker)) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) await rm(`${dbPath}${suffix}`, { force: true });
  }
  if (!existsSync(dbPath)) await writeFile(marker, 'The first start of this database has not ended.\n');
  return () => rm(marker, { force: true });
}
