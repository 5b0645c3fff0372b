/** Writes the documentation that is made from the code: `npx jiti scripts/write-docs.ts`. A test says when it is out of date. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { failureTableMarkdown } from '../src/policy/failure-docs.js';
import { cliMarkdown } from './cli-docs.js';

const pages = { 'failures.md': failureTableMarkdown(), 'cli.md': cliMarkdown() };
for (const [name, text] of Object.entries(pages)) {
  const page = fileURLToPath(new URL(`../docs/${name}`, import.meta.url));
  const style = await resolveConfig(page);
  writeFileSync(page, await format(text, { ...style, filepath: page }));
}
