import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createJiti } from 'jiti';
import { ConfigError } from './config-error.js';
import type { ResolvedConfig } from './config.js';
import { resolveConfig } from './resolve-config.js';

/** In this order, where a folder has several. */
export const configFileNames = ['ts', 'mts', 'js', 'mjs'].map((extension) => `perdure.config.${extension}`);

/**
 * Loads, checks and resolves the configuration: `file`, or the nearest `perdure.config.*` from `cwd` upwards. Rejects with
 * `ConfigError` that says what to do: no file, a syntax error (file and line), a missing package, a wrong value (path and
 * value). A file is evaluated once in a process. `env` is the process's by default.
 */
export async function loadConfig(options: {
  cwd: string;
  file?: string;
  env?: Readonly<Record<string, string | undefined>>;
}): Promise<ResolvedConfig> {
  const file = options.file === undefined ? findConfigFile(options.cwd) : resolve(options.cwd, options.file);
  if (file === undefined) throw noConfig(options.cwd);
  if (!existsSync(file)) throw new ConfigError('', `there is no configuration at ${file}`);
  const exported = await evaluate(file);
  // Not by reading `default`: for modules without one, jiti gives the module itself.
  const hasDefault = typeof exported === 'object' && exported !== null && Object.hasOwn(exported, 'default');
  const config = hasDefault ? (exported as { default: unknown }).default : undefined;
  if (config === undefined) {
    throw new ConfigError('', `${file} exports no configuration; write: export default defineConfig({ tools: [] })`);
  }
  return resolveConfig(config, { rootDir: dirname(file), env: options.env ?? process.env });
}

/** The nearest configuration file from a folder upwards. */
export function findConfigFile(cwd: string): string | undefined {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const found = configFileNames.map((name) => join(folder, name)).find((path) => existsSync(path));
    if (found !== undefined) return found;
    if (dirname(folder) === folder) return undefined;
  }
}

function noConfig(cwd: string): ConfigError {
  return new ConfigError(
    '',
    [
      `there is no perdure.config.ts in ${resolve(cwd)} or a folder above it. Create one:`,
      '',
      "  import { defineConfig } from 'perdure';",
      '  export default defineConfig({ tools: [] });',
      '',
      'or name one with --config FILE.',
    ].join('\n'),
  );
}

async function evaluate(file: string): Promise<unknown> {
  // The configuration's `perdure` is this very copy, also where it is run from its own repository and not installed.
  // Imported late, because the entry itself exports this function.
  // eslint-disable-next-line perdure/import-boundaries -- configurations may import all that the entry exports
  const perdure: unknown = await import('../index.js');
  const load = (options: { fsCache?: false }): Promise<unknown> =>
    createJiti(pathToFileURL(file).href, { sourceMaps: true, virtualModules: { perdure }, ...options }).import(file);
  try {
    return await load({}).catch((error: unknown) => {
      // jiti keeps what it has compiled in a file, and gives up where there is no room for it.
      if (!isDiskFull(error)) throw error;
      return load({ fsCache: false });
    });
  } catch (error) {
    throw explain(error, file);
  }
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

function explain(error: unknown, file: string): ConfigError {
  if (error instanceof ConfigError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const syntax = /^(?:ParseError|SyntaxError): ([^\n]*?)\s*\n?\s*(\S[^\n]*:\d+:\d+)\s*$/.exec(message);
  if (syntax) return new ConfigError('', `${syntax[2] ?? file}: ${syntax[1] ?? message}`, { cause: error });
  const missing = /Cannot find (?:module|package) '([^']+)'/.exec(message)?.[1];
  if (missing !== undefined) return new ConfigError('', missingWords(missing, file), { cause: error });
  return new ConfigError('', `${placeOf(error, file)}: ${message}`, { cause: error });
}

function missingWords(name: string, file: string): string {
  const isFile = /^[./]/.test(name) || /^[A-Za-z]:\\/.test(name);
  return `${file} imports '${name}', which ${isFile ? 'does not exist' : `is not installed; type: npm install ${packageOf(name)}`}`;
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** The line of the configuration that threw, where the stack names one. */
function placeOf(error: unknown, file: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const start = stack.indexOf(`${file}:`);
  return (start < 0 ? undefined : /^.*?:\d+(?=:\d+|\))/.exec(stack.slice(start))?.[0]) ?? file;
}
