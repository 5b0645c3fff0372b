import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { readPage, readPages, root } from './page.js';

test('every link of the documentation leads to a file and a heading that are there', () => {
  const wrong = readPages().flatMap(({ path, text }) =>
    [...withoutBlocks(text).matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]*))?\)/g)]
      .filter(([, file = '', heading]) => !leadsSomewhere(path, file, heading))
      .map(([link]) => `${path}: ${link}`),
  );
  expect(wrong).toEqual([]);
});

test('every page of docs/ stands in its index', () => {
  const index = readPage('docs/README.md').text;
  const pages = readPages().map(({ path }) => path.replace('docs/', ''));
  expect(pages.filter((page) => page !== 'README.md' && !index.includes(`(${page})`))).toEqual([]);
});

function leadsSomewhere(from: string, file: string, heading: string | undefined): boolean {
  const target = file === '' ? from : normalize(join(dirname(from), file));
  if (!existsSync(join(root, target))) return false;
  return heading === undefined || headingsOf(readPage(target).text).includes(heading);
}

function withoutBlocks(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '');
}

/** As GitHub makes them: https://docs.github.com/en/get-started/writing-on-github */
function headingsOf(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, words = '']) =>
    words
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/ /g, '-'),
  );
}
