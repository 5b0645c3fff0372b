import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findGoProgram } from '../../../scripts/set-up/go-programs.mjs';
import { readPage } from '../../docs/page.js';
import { startComposeStack, type ComposeStack } from '../../support/compose-stack.js';
import { postgresMissing } from '../../support/postgres.js';
import { PageRun } from './page-run.js';

const { blocks, text } = readPage('docs/getting-started.md');
const shared = text.slice(0, text.indexOf('## 7.')).split('\n').length;
const isShared = (place: string): boolean => Number(place.split(':')[1]) > shared;

const notRun = {
  'cd ': 'the test is in the folder already',
  'npm install': 'the package under test is linked in; test/e2e/production/package.test.ts installs the packed one',
  'OPENAI_API_KEY=': 'needs a key, and costs',
  docker: 'no Docker here; test/e2e/production/compose.test.ts starts what the file names as processes',
  createdb: 'startComposeStack does it with deploy/postgres/databases.sql',
  'sh deploy': 'startComposeStack runs these scripts',
  'temporal-server': 'startComposeStack starts it with the environment of docker-compose.yml',
};

const missing =
  findGoProgram('compose-go') && findGoProgram('temporal-server')
    ? postgresMissing
    : 'compose-go and the Temporal server are not built (npm test builds them with Go)';
if (missing !== undefined) console.warn(`Skipping two workers on PostgreSQL: ${missing}`);
const describeStack = missing === undefined || process.env['CI'] !== undefined ? describe : describe.skip;

describe('docs/getting-started.md', () => {
  let page: PageRun;
  let stack: ComposeStack | undefined;
  const replaced: Record<string, string> = { 'init my-agent': 'init' };
  beforeAll(async () => {
    page = await PageRun.open({ notRun, replaced });
  });
  afterAll(async () => {
    await page[Symbol.asyncDispose]();
    await stack?.[Symbol.asyncDispose]();
  });

  it.each(blocks.filter(({ place }) => !isShared(place)))('$place', async (block) => {
    await page.follow(block);
  });

  it('has refunded each order once, although an answer was lost', async () => {
    const refunds = JSON.parse(await readFile(join(page.dir, '.shop/refunds.json'), 'utf8')) as { orderId: string }[];
    expect(refunds.map(({ orderId }) => orderId)).toEqual(['1042', '1041']);
  });

  describeStack('on PostgreSQL-backed Temporal', () => {
    beforeAll(async () => {
      stack = await startComposeStack();
      replaced['127.0.0.1:7233'] = stack.address;
      replaced['127.0.0.1:5432'] = `127.0.0.1:${String(stack.postgres.port)}`;
    }, 120_000);

    it.each(blocks.filter(({ place }) => isShared(place)))('$place', async (block) => {
      await page.follow(block);
    });
  });
});
