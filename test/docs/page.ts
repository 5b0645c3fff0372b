/** The documentation as tests read it: fenced blocks with the HTML comments before them, which name what a test needs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Block {
  /** From the repository's root, with the line of its first line: `docs/tools.md:12`. */
  place: string;
  /** What stands behind the opening fence; '' for none. */
  language: string;
  text: string;
  /** `<!-- file: tools.ts -->` before the fence is `{ file: 'tools.ts' }`; a word alone has the value ''. */
  notes: Readonly<Record<string, string>>;
}

export interface Page {
  /** From the repository's root. */
  path: string;
  text: string;
  blocks: Block[];
}

/** README.md and every page of docs/. */
export function readPages(): Page[] {
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', ...pages.sort().map((name) => `docs/${name}`)].map(readPage);
}

export function readPage(path: string): Page {
  const text = readFileSync(join(root, path), 'utf8');
  return { path, text, blocks: blocksOf(text, path) };
}

/** Throws where a fence is not closed. */
export function blocksOf(text: string, path: string): Block[] {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let notes: Record<string, string> = {};
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    const fence = /^(\s*)(```+|~~~+)\s*(\w*)/.exec(line);
    const note = /^\s*<!--\s*([\w-]+)(?::\s*(.*?))?\s*-->\s*$/.exec(line);
    if (note) notes[note[1] ?? ''] = note[2] ?? '';
    else if (fence) {
      const [, indent = '', marks = '', language = ''] = fence;
      const end = lines.findIndex((each, at) => at > i && each.trim() === marks);
      if (end < 0) throw new Error(`${path}:${String(i + 1)}: this fence is not closed`);
      const body = lines.slice(i + 1, end).map((each) => (each.startsWith(indent) ? each.slice(indent.length) : each));
      blocks.push({ place: `${path}:${String(i + 2)}`, language, text: body.join('\n'), notes });
      notes = {};
      i = end;
    } else if (line.trim() !== '') notes = {};
  }
  return blocks;
}
