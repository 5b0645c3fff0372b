import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createJiti } from 'jiti';
import { ConfigError } from './config-error.js';
import type { ResolvedConfig } from './config.js';
import { moduleErrorWords } from './module-error.js';
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
  /** As for `resolveConfig`: leaves the model out. Default: false. */
  forReading?: boolean;
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
  const { env = process.env, forReading = false } = options;
  return resolveConfig(config, { rootDir: dirname(file), env, forReading });
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
  const jiti = createJiti(pathToFileURL(file).href, { sourceMaps: true, virtualModules: { perdure } });
  try {
    return await jiti.import(file);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError('', moduleErrorWords(error, file), { cause: error });
  }
}
