import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPage, root } from '../../docs/page.js';
import { PageRun } from './page-run.js';

/** The five failures are mended by the page itself: what is typed, printed and written there is what is run here. */
describe('the five failures of docs/troubleshooting.md', () => {
  const { blocks, text } = readPage('docs/troubleshooting.md');
  const start = text.slice(0, text.indexOf('## Five failures, found and mended')).split('\n').length;
  const steps = blocks.filter(({ place }) => Number(place.split(':')[1]) > start);

  let page: PageRun;
  beforeAll(async () => {
    page = await PageRun.open();
    await cp(join(root, 'examples/five-failures'), page.dir, {
      recursive: true,
      filter: (path) => !/node_modules|\.perdure/.test(path),
    });
  });
  afterAll(() => page[Symbol.asyncDispose]());

  it.each(steps)('$place', async (block) => {
    await page.follow(block);
  });

  it('leave each effect behind exactly once', async () => {
    const journal = await readFile(join(page.dir, '.perdure/journal.txt'), 'utf8');
    expect(
      journal
        .replace(/ k1:\w+/, '')
        .trim()
        .split('\n'),
    ).toEqual(['refund 1042', 'label 1042', 'label 2001', 'label 2002', 'label 2003', 'label 2004']);
  });
});
