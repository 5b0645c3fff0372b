import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { expect, test } from 'vitest';
import { failureTableMarkdown } from '../../src/policy/failure-docs.js';

test('docs/failures.md is what the table makes of it; write it anew with `npx jiti scripts/write-docs.ts`', async () => {
  const page = fileURLToPath(new URL('../../docs/failures.md', import.meta.url));
  const style = await resolveConfig(page);
  expect(readFileSync(page, 'utf8')).toBe(await format(failureTableMarkdown(), { ...style, filepath: page }));
});
