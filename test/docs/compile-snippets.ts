/** Compiles the TypeScript of the documentation against the sources, all of it with one program. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { type Block, type Page, root } from './page.js';

const excerptFile = join(root, 'test/docs/excerpt.ts');
const excerptNames = [...readFileSync(excerptFile, 'utf8').matchAll(/^export declare (?:function|const) (\w+)/gm)]
  .map(([, name]) => name ?? '')
  .concat('z', 'degraded', 'empty', 'partial', 'ToolError', 'agentAsTool');

/** Mistakes as `docs/tools.md:12: words`, in the order of the pages. */
export function compileSnippets(pages: readonly Page[]): string[] {
  const texts = new Map<string, string>();
  const checked: { path: string; place: string }[] = [];
  for (const page of pages) {
    const snippets = page.blocks.filter(({ language }) => language === 'ts');
    snippets.forEach((snippet, index) => {
      // A folder for each: what a page calls tools.ts may change further down, and one snippet may import another.
      const folder = join(root, 'docs', `.snippet-${page.path.replace(/\W+/g, '-')}-${String(index)}`);
      for (const [name, block] of filesAt(snippets, index)) texts.set(join(folder, name), block.text);
      const path = join(folder, snippet.notes['file'] ?? 'snippet.ts');
      texts.set(path, wrapped(snippet));
      checked.push({ path, place: snippet.place });
    });
  }
  const program = programOf(texts);
  return checked.flatMap(({ path, place }) => mistakesOf(program, path, place));
}

/** The named files as a reader has them at this snippet; those that come later are taken for written already. */
function filesAt(snippets: readonly Block[], index: number): Map<string, Block> {
  const files = new Map<string, Block>();
  for (const [at, block] of snippets.entries()) {
    const name = block.notes['file'];
    if (name !== undefined && (at <= index || !files.has(name))) files.set(name, block);
  }
  return files;
}

/** What stands around a snippet is on its first line, so that the lines of mistakes stay right. */
function wrapped({ text, notes, place }: Block): string {
  const free = excerptNames.filter((name) => !new RegExp(`import[^;]*\\b${name}\\b[^;]*from`).test(text));
  const imports = `import { ${free.join(', ')} } from ${JSON.stringify(excerptFile)};`;
  if ('excerpt' in notes) return `${imports} ${text}\nexport {};`;
  const asConfig = (part: string) => `((): Partial<import('perdure').PerdureConfig> => ({ ${part} })),`;
  switch (notes['part-of']) {
    case undefined:
      return text;
    case 'tool':
      return `${imports} defineTool({ ${text} });`;
    case 'configuration':
      return `export const parts = [ ${asConfig(text)} ];`;
    case 'configuration, one a line':
      return `export const parts = [ ${text.split('\n').map(asConfig).join('\n')} ];`;
    default:
      throw new Error(`${place}: part-of: expected 'tool' or 'configuration', got '${notes['part-of'] ?? ''}'`);
  }
}

/** What snippets import, parsed once for all programs. */
const sources = new Map<string, ts.SourceFile>();

function programOf(texts: ReadonlyMap<string, string>): ts.Program {
  const file = join(root, 'tsconfig.json');
  const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(file, ts.sys.readFile).config, ts.sys, root);
  const host = ts.createCompilerHost(options, true);
  const folders = new Set([...texts.keys()].map((path) => dirname(path)));
  const getSourceFile = host.getSourceFile.bind(host);
  host.getSourceFile = (path, ...rest) => {
    if (texts.has(path)) return getSourceFile(path, ...rest);
    const parsed = sources.get(path) ?? getSourceFile(path, ...rest);
    if (parsed) sources.set(path, parsed);
    return parsed;
  };
  const before = { fileExists: host.fileExists.bind(host), readFile: host.readFile.bind(host) };
  host.fileExists = (path) => texts.has(path) || before.fileExists(path);
  host.readFile = (path) => texts.get(path) ?? before.readFile(path);
  host.directoryExists = (path) => folders.has(path) || ts.sys.directoryExists(path);
  return ts.createProgram([...texts.keys()], options, host);
}

function mistakesOf(program: ts.Program, path: string, place: string): string[] {
  const source = program.getSourceFile(path);
  if (!source) throw new Error(`${place}: was not compiled`);
  const [page = '', first = '1'] = place.split(':');
  return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((mistake) => {
    const line = source.getLineAndCharacterOfPosition(mistake.start ?? 0).line;
    return `${page}:${String(Number(first) + line)}: ${ts.flattenDiagnosticMessageText(mistake.messageText, ' ')}`;
  });
}
