import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPage, readPages } from '../../docs/page.js';
import { PageRun } from './page-run.js';

/** Where the shell commands of each page are run; or why nowhere as they stand. All of them are parsed in test/docs. */
const whereRun: Record<string, string> = {
  'README.md': 'below',
  'docs/cli.md': 'examples of options, made from the program; each command has its own test in test/e2e',
  'docs/getting-started.md': 'getting-started.test.ts',
  'docs/loop-defence.md': 'names a test of this project',
  'docs/models.md': 'needs a model server; test/models does with one of its own',
  'docs/operations.md': 'test/e2e/production: compose, worker-endpoints, versioning',
  'docs/replay.md': 'below',
  'docs/retry-and-reset.md': 'each needs a run that ended in another way: troubleshooting.test.ts, test/e2e/retry',
  'docs/soak.md': 'takes two minutes; test/e2e/soak.test.ts runs a short one',
  'docs/troubleshooting.md': 'troubleshooting.test.ts; its first commands are looks at a run that is not there',
};

it('every page with shell commands says where they are run', () => {
  const withCommands = readPages().filter(({ blocks }) => blocks.some(({ language }) => language === 'sh'));
  expect(withCommands.map(({ path }) => path).sort()).toEqual(Object.keys(whereRun).sort());
});

describe('README.md', () => {
  const steps = readPage('README.md').blocks.filter(
    ({ notes, text }) => notes['file'] !== undefined || text.includes('npm run perdure'),
  );
  let page: PageRun;
  beforeAll(async () => {
    page = await PageRun.open({ replaced: { 'npm run perdure --': 'perdure' } });
  });
  afterAll(() => page[Symbol.asyncDispose]());

  it.each(steps)('$place', async (block) => {
    await page.follow(block);
  });

  it('prints what the page promises', async () => {
    await page.follow({
      place: 'README.md',
      language: '',
      notes: { prints: '' },
      text: [
        '  ✗ c1.0  reserve {"product":"tea","count":20} …',
        '  ✓ c2.0  reserve {"product":"tea","count":12} …',
        '  There were only 12, which are reserved for you.',
      ].join('\n'),
    });
  });
});

describe('docs/replay.md', () => {
  const place = 'test';
  let page: PageRun;
  beforeAll(async () => {
    page = await PageRun.open({ notRun: { 'perdure replay --history': 'the file is exported in cli-replay.test.ts' } });
    for (const block of readPage('README.md').blocks.filter(({ notes }) => notes['file'] !== undefined)) {
      await page.follow({ ...block, notes: { file: (block.notes['file'] ?? '').replace('my-agent/', '') } });
    }
    await page.follow({ place, language: 'sh', notes: { until: 'Ctrl-C stops.' }, text: 'perdure dev' });
    await page.follow({ place, language: 'sh', notes: {}, text: 'perdure run --follow --id refund-1042 "Reserve"' });
  });
  afterAll(() => page[Symbol.asyncDispose]());

  it.each(readPage('docs/replay.md').blocks.filter(({ language }) => language === 'sh'))('$place', async (block) => {
    await page.follow(block);
  });
});
