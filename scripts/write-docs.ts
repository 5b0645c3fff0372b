/** Writes the documentation that is made from the code: `npx jiti scripts/write-docs.ts`. A test says when it is out of date. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { failureTableMarkdown } from '../src/policy/failure-docs.js';

const page = fileURLToPath(new URL('../docs/failures.md', import.meta.url));
const style = await resolveConfig(page);
writeFileSync(page, await format(failureTableMarkdown(), { ...style, filepath: page }));
