import { createRequire } from 'node:module';
import { checkToolSchema } from '../arguments/check-tool-schema.js';
import type { ResolvedConfig } from '../config/config.js';
import { findConfigFile, loadConfig } from '../config/load-config.js';
import { KEY_VARIABLES } from '../models/resolve-model.js';
import { counted } from '../policy/counted.js';
import { buildManifest } from '../tools/manifest.js';
import type { Diagnosis, Finding } from './diagnosis.js';
import { diagnoseServer } from './diagnose-server.js';
import { diagnoseStore } from './diagnose-store.js';

type Environment = Readonly<Record<string, string | undefined>>;

export interface DiagnoseOptions {
  cwd: string;
  env: Environment;
  /** Default: the nearest `perdure.config.*` from `cwd` upwards. */
  configFile?: string;
}

/** The first with both `node:sqlite` and TypeScript without a build. */
const oldestNode = [22, 18] as const;

/** Looks at all that a run needs: versions, configuration, credentials, server, store, workers, tools. Never rejects. */
export async function diagnose(options: DiagnoseOptions): Promise<Diagnosis> {
  const findings: Finding[] = [versions()];
  const config = await configuration(options, findings);
  if (!config) return { findings };
  findings.push(...tools(config), await model(options), ...credentials(config, options.env));
  const store = await diagnoseStore(config);
  findings.push(...store.findings);
  findings.push(...(await diagnoseServer(config, options.env, store.storeId)));
  return { findings };
}

function versions(): Finding {
  const require = createRequire(import.meta.url);
  const versionOf = (name: string): string => (require(`${name}/package.json`) as { version: string }).version;
  const { version } = require('../../package.json') as { version: string };
  const words = `perdure ${version}, Temporal SDK ${versionOf('@temporalio/client')}, Node ${process.version}`;
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isOld = major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1]);
  if (!isOld) return { subject: 'versions', status: 'ok', words };
  return { subject: 'versions', status: 'problem', words, next: `install Node ${oldestNode.join('.')} or later` };
}

async function configuration(options: DiagnoseOptions, findings: Finding[]): Promise<ResolvedConfig | undefined> {
  const { cwd, configFile } = options;
  const subject = 'configuration';
  try {
    const config = await loadConfig({ ...placeOf(options), forReading: true });
    const file = configFile ?? findConfigFile(cwd) ?? 'the defaults';
    findings.push({ subject, status: 'ok', words: `${file} loads, ${counted(config.tools.length, 'tool')}` });
    return config;
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    findings.push({ subject, status: 'problem', words, next: 'correct it and run perdure doctor again' });
    return undefined;
  }
}

function tools({ tools: configured }: ResolvedConfig): Finding[] {
  const { tools: manifest } = buildManifest(configured);
  const faulty = manifest.filter((tool) => checkToolSchema(tool).length > 0).map(({ name }) => name);
  if (faulty.length === 0) return [];
  const words = `the schemas of ${faulty.join(', ')} work, and make models err`;
  return [{ subject: 'tools', status: 'warning', words, next: 'perdure tools check' }];
}

function placeOf({ cwd, env, configFile }: DiagnoseOptions): Parameters<typeof loadConfig>[0] {
  return { cwd, env, ...(configFile !== undefined && { file: configFile }) };
}

/** Apart from the rest of the configuration: all else can be looked at without a model. */
async function model(options: DiagnoseOptions): Promise<Finding> {
  const { env } = options;
  let configured: ResolvedConfig['model'];
  try {
    configured = (await loadConfig(placeOf(options))).model;
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return { subject: 'model', status: 'problem', words, next: 'correct it and run perdure doctor again' };
  }
  if (configured) {
    const provider = configured.name.split(':')[0] ?? '';
    const variable = KEY_VARIABLES.get(provider);
    const key = variable === undefined || !env[variable] ? '' : `, its key is in ${variable}`;
    return { subject: 'model', status: 'ok', words: `${configured.name}${key}` };
  }
  const words = 'no model is set up: runs that name none fail';
  return { subject: 'model', status: 'warning', words, next: 'set model in perdure.config.ts, or OPENAI_API_KEY' };
}

/** Names of variables, never their values. */
function credentials({ secretEnv }: ResolvedConfig, env: Environment): Finding[] {
  if (secretEnv.length === 0) return [];
  const missing = secretEnv.filter((name) => !env[name]);
  const subject = 'credentials';
  if (missing.length === 0) return [{ subject, status: 'ok', words: `${secretEnv.join(', ')} are set here` }];
  const words = `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set here`;
  return [{ subject, status: 'warning', words, next: `export ${missing[0] ?? ''}=… where the workers run` }];
}
