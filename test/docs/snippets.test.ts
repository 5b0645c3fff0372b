import { expect, test } from 'vitest';
import { compileSnippets } from './compile-snippets.js';
import { blocksOf, readPages } from './page.js';

const pages = readPages();

test('every TypeScript snippet of the documentation compiles against the real types', () => {
  expect(compileSnippets(pages)).toEqual([]);
}, 60_000);

test('a snippet with an option that does not exist is found, with page and line', () => {
  const text = [
    '<!-- file: tools.ts -->',
    '```ts',
    'export const one = 1;',
    '```',
    '```ts',
    "import { defineTool } from 'perdure';",
    "import { one } from './tools.ts';",
    'const name: string = one;',
    "defineTool({ name, description: 'x', input: {}, execute: () => 1, retries: 3 });",
    '```',
  ].join('\n');
  const mistakes = compileSnippets([{ path: 'docs/x.md', text, blocks: blocksOf(text, 'docs/x.md') }]);
  expect(mistakes).toEqual([
    "docs/x.md:8: Type 'number' is not assignable to type 'string'.",
    expect.stringMatching(/^docs\/x\.md:9: .*'retries' does not exist/),
  ]);
}, 60_000);

test('every JSON snippet is JSON', () => {
  const blocks = pages.flatMap((page) => page.blocks).filter(({ language }) => language === 'json');
  expect(blocks.length).toBeGreaterThan(0);
  for (const { text, place } of blocks) expect(() => JSON.parse(text) as unknown, place).not.toThrow();
});
