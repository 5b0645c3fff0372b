import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Groups of the failure handling; the others belong to durability, loops, breakers and MCP. */
const groups = /^[AMSOHE]\d+$/;
/** Cut conversations, which belong to compaction. */
const elsewhere = ['M04'];

test('every case of the groups A, M, S, O, H and E is named by a test', () => {
  const folder = new URL('.', import.meta.url);
  const folders = [folder, new URL('../e2e/failures/', folder)];
  const ids = readFileSync(new URL('cases.jsonl', folder), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => (JSON.parse(line) as { id: string }).id)
    .filter((id) => groups.test(id) && !elsewhere.includes(id));
  expect(ids.length).toBeGreaterThan(30);
  const tests = folders
    .flatMap((where) => readdirSync(where).map((name) => ({ name, url: new URL(name, where) })))
    .filter(({ name }) => name.endsWith('.test.ts') && name !== 'coverage.test.ts')
    .map(({ url }) => readFileSync(url, 'utf8'))
    .join('\n');
  expect(ids.filter((id) => !new RegExp(`\\b${id}\\b`).test(tests))).toEqual([]);
});
