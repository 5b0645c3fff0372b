import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoopPolicy } from '../contract/guard-state.js';
import type { RunLimits } from '../contract/run-limits.js';
import { resolveFaults } from '../faults/resolve-faults.js';
import type { Model } from '../models/model.js';
import { resolveModel, type ResolveModelOptions } from '../models/resolve-model.js';
import { resolveAlternatives } from '../tools/alternatives.js';
import { refuseDuplicateNames } from '../tools/manifest.js';
import { resolveLimiter } from '../tools/shared-limits.js';
import { LEAST_GRACE_MS } from '../store/collect-garbage.js';
import { readArtifactName } from '../tools/read-artifact.js';
import type { Tool } from '../tools/tool.js';
import {
  at,
  checkBoolean,
  checkInteger,
  checkNumber,
  checkObject,
  checkOneOf,
  checkText,
  checkTexts,
  didYouMean,
  refuseUnknownKeys,
  shown,
} from './check-options.js';
import { ConfigError } from './config-error.js';
import type { PerdureConfig, ResolvedConfig } from './config.js';
import { parseDuration } from './duration.js';
import { resolveStore } from './resolve-store.js';
import { resolveWorker } from './resolve-worker.js';

/**
 * What holds where the configuration says nothing (for workers: `workerDefaults`). 25 steps end a run that goes in circles
 * before it costs much.
 */
export const configDefaults = {
  instructions: '',
  limits: { steps: 25, calls: null, tokens: null, costUsd: null, wallTimeMs: null, failures: null },
  loop: { equalCalls: 2, equalAnswers: 5, stalledRounds: 2, onExhausted: 'stop' },
  // A week: long enough to notice that something refers to what nothing seemed to refer to.
  retention: { closedRunsMs: null, graceMs: 7 * 24 * 3_600_000 },
} as const satisfies Pick<ResolvedConfig, 'instructions' | 'limits' | 'loop' | 'retention'>;

const configKeys = [
  'model',
  'tools',
  'equivalents',
  'instructions',
  'limits',
  'prices',
  'modelLimits',
  'loop',
  'store',
  'retention',
  'worker',
  'secrets',
  'secretEnv',
  'alerts',
  'workflows',
  'faults',
  'production',
] as const satisfies (keyof PerdureConfig)[];

/** A shorter secret would mask ordinary text wherever it stands. */
const shortestSecret = 4;

/** Where a configuration stands, and what it is for. */
export interface ResolveConfigOptions {
  rootDir: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Who only reads needs no model: it is left out, whether its key, package or file is there or not. Default: false. */
  forReading?: boolean;
}

/**
 * Checks a configuration and resolves every default; relative paths start at `rootDir`. Rejects with `ConfigError` that
 * holds path and value of the first mistake.
 */
export async function resolveConfig(
  config: unknown,
  { rootDir, env, forReading = false }: ResolveConfigOptions,
): Promise<ResolvedConfig> {
  const given = checkObject('', config);
  refuseUnknownKeys('', given, configKeys);
  const limits = resolveLimits('limits', given['limits']);
  const prices = resolvePrices(given['prices']);
  const tools = resolveAlternatives(checkTools(given['tools']), given['equivalents']);
  const { store, secrets: storeSecrets } = resolveStore(given['store'], { rootDir, env });
  const worker = resolveWorker(given['worker'], env);
  const alertWebhook = resolveWebhook(given['alerts']);
  const secrets = resolveSecrets(given, env, [...storeSecrets, ...(alertWebhook === undefined ? [] : [alertWebhook])]);
  const workflowsPath = resolveWorkflows(given['workflows'], rootDir);
  const instructions = resolveInstructions(given['instructions']);
  const faults = resolveFaults({
    option: given['faults'],
    production: checkBoolean('production', given['production'] ?? false),
    tools,
    env,
    drawSeed: () => Math.floor(Math.random() * 0x1_0000_0000),
  });
  const model = forReading
    ? undefined
    : await resolveModels(given['model'] as PerdureConfig['model'], { tools, limits, rootDir, env, prices });
  return {
    rootDir,
    model,
    tools,
    instructions,
    limits,
    ...(prices && { prices }),
    modelLimits: resolveLimiter('modelLimits', given['modelLimits']),
    loop: resolveLoop(given['loop']),
    store,
    retention: resolveRetention(given['retention']),
    ...worker,
    secrets,
    secretEnv: checkTexts('secretEnv', given['secretEnv'] ?? []),
    workflowsPath,
    ...(alertWebhook !== undefined && { alertWebhook }),
    ...(faults ? { faults } : {}),
  };
}

/**
 * Checks limits and fills in the defaults. 0 means none left and `null` no cap; anything that is no finite number of 0 or
 * more is refused, because a limit that cannot be read must not become none.
 */
export function resolveLimits(path: string, limits: unknown): RunLimits {
  const given = limits === undefined ? {} : checkObject(path, limits);
  refuseUnknownKeys(path, given, Object.keys(configDefaults.limits));
  const limit = (key: keyof RunLimits, check: (path: string, value: unknown) => number): number | null => {
    const value = given[key];
    if (value === undefined) return configDefaults.limits[key];
    if (value === null) return null;
    if (value === Infinity) throw new ConfigError(at(path, key), 'expected a number, got Infinity; null is no limit');
    return check(at(path, key), value);
  };
  const count = (where: string, value: unknown) => checkInteger(where, value, 0);
  return {
    steps: limit('steps', count),
    calls: limit('calls', count),
    tokens: limit('tokens', count),
    costUsd: limit('costUsd', (where, value) => checkNumber(where, value, 0)),
    wallTimeMs: limit('wallTimeMs', (where, value) =>
      parseDuration(where, value, { minMs: 0, maxMs: Number.MAX_SAFE_INTEGER }),
    ),
    failures: limit('failures', count),
  };
}

function resolveLoop(loop: unknown): LoopPolicy {
  const given = loop === undefined ? {} : checkObject('loop', loop);
  refuseUnknownKeys('loop', given, Object.keys(configDefaults.loop));
  const { equalCalls, equalAnswers, stalledRounds, onExhausted } = { ...configDefaults.loop, ...given };
  if ((onExhausted as unknown) === 'person') {
    throw new ConfigError('loop.onExhausted', "'person' is not yet in this version; take 'stop' or 'model'");
  }
  return {
    equalCalls: checkInteger('loop.equalCalls', equalCalls, 1),
    equalAnswers: equalAnswers === null ? null : checkInteger('loop.equalAnswers', equalAnswers, 2),
    stalledRounds: stalledRounds === null ? null : checkInteger('loop.stalledRounds', stalledRounds, 1),
    onExhausted: checkOneOf('loop.onExhausted', onExhausted, ['stop', 'model']),
  };
}

function resolvePrices(prices: unknown): Model['prices'] {
  if (prices === undefined) return undefined;
  const given = checkObject('prices', prices);
  refuseUnknownKeys('prices', given, ['inputPerMillion', 'outputPerMillion']);
  return {
    inputPerMillion: checkNumber('prices.inputPerMillion', given['inputPerMillion'], 0),
    outputPerMillion: checkNumber('prices.outputPerMillion', given['outputPerMillion'], 0),
  };
}

function checkTools(tools: unknown): Tool[] {
  if (!Array.isArray(tools)) throw new ConfigError('tools', `expected a list of tools, got ${shown(tools)}`);
  const checked = tools.map((tool, index) => checkTool(at('tools', index), tool));
  const builtIn = checked.findIndex((tool) => tool.source !== 'builtin' && tool.definition.name === readArtifactName);
  if (builtIn >= 0) {
    throw new ConfigError(at('tools', builtIn), `the name '${readArtifactName}' is taken by a built-in tool`);
  }
  refuseDuplicateNames(checked);
  checked.forEach((tool, index) => checkAgent(at('tools', index), tool, checked));
  return checked;
}

function withoutPrices(path: string, model: Model): ConfigError {
  return new ConfigError(
    path,
    `the prices of ${model.name} are not known; add prices: { inputPerMillion: …, outputPerMillion: … } in US dollars`,
  );
}

/** The runs' model; its prices and those of the agents' models are known where a cap on cost needs them. */
async function resolveModels(
  choice: PerdureConfig['model'],
  { tools, limits, ...options }: { tools: readonly Tool[]; limits: RunLimits } & ResolveModelOptions,
): Promise<Model | undefined> {
  const model = await resolveModel(choice, options);
  if (model && limits.costUsd !== null && !model.prices) throw withoutPrices('limits.costUsd', model);
  await checkAgentPrices(tools, { limits, ...options });
  return model;
}

/** What an agent uses is charged to its parent: a model that costs nothing there would make the cap none. */
async function checkAgentPrices(
  tools: readonly Tool[],
  { limits, ...options }: { limits: RunLimits } & ResolveModelOptions,
): Promise<void> {
  for (const [index, { definition, agent }] of tools.entries()) {
    const cap = definition.agent?.limits.costUsd ?? limits.costUsd;
    if (agent?.model === undefined || cap === null) continue;
    const model = await resolveModel(agent.model, options);
    if (model && !model.prices) throw withoutPrices(at(at('tools', index), 'model'), model);
  }
}

/** An agent is offered tools of this configuration. */
function checkAgent(path: string, tool: Tool, tools: readonly Tool[]): void {
  const names = tools.map(({ definition }) => definition.name);
  tool.definition.agent?.tools?.forEach((name, index) => {
    if (names.includes(name) || name === readArtifactName) return;
    const place = at(at(path, 'tools'), index);
    throw new ConfigError(
      place,
      `no tool has the name ${shown(name)}${didYouMean(name, names)}; the tools are ${names.join(', ')}`,
    );
  });
}

/** A tool of `defineTool` and the other sources, or one written by hand. */
function checkTool(path: string, tool: unknown): Tool {
  const given = checkObject(path, tool);
  if (given['definition'] === undefined && given['name'] !== undefined) {
    const maker = 'url' in given ? 'httpTool' : 'defineTool';
    throw new ConfigError(path, `expected a tool, got the options of one; wrap them: ${maker}({ … })`);
  }
  const definition = checkObject(at(path, 'definition'), given['definition']);
  checkText(at(path, 'definition.name'), definition['name']);
  checkObject(at(path, 'definition.inputSchema'), definition['inputSchema']);
  checkObject(at(path, 'definition.policy'), definition['policy']);
  for (const method of ['parse', 'execute']) {
    if (typeof given[method] !== 'function') {
      throw new ConfigError(at(path, method), `expected a function, got ${shown(given[method])}`);
    }
  }
  return tool as Tool;
}

function resolveRetention(retention: unknown): ResolvedConfig['retention'] {
  const given = retention === undefined ? {} : checkObject('retention', retention);
  refuseUnknownKeys('retention', given, Object.keys(configDefaults.retention));
  const { closedRunsMs, graceMs } = { ...configDefaults.retention, ...given };
  const bounds = { maxMs: Number.MAX_SAFE_INTEGER };
  return {
    closedRunsMs:
      (closedRunsMs as unknown) === null ? null : parseDuration('retention.closedRunsMs', closedRunsMs, bounds),
    graceMs: parseDuration('retention.graceMs', graceMs, { ...bounds, minMs: LEAST_GRACE_MS }),
  };
}

function resolveWebhook(alerts: unknown): string | undefined {
  if (alerts === undefined) return undefined;
  const given = checkObject('alerts', alerts);
  refuseUnknownKeys('alerts', given, ['webhook']);
  if (given['webhook'] === undefined) return undefined;
  const webhook = checkText('alerts.webhook', given['webhook']);
  const url = URL.canParse(webhook) ? new URL(webhook) : undefined;
  if (url?.username || url?.password)
    throw new ConfigError('alerts.webhook', 'expected a URL without user and password');
  if (url && /^https?:$/.test(url.protocol)) return webhook;
  throw new ConfigError('alerts.webhook', `expected an http or https URL, got ${shown(webhook)}`);
}

function resolveInstructions(instructions: unknown): string {
  if (instructions === undefined) return configDefaults.instructions;
  if (typeof instructions === 'string') return instructions;
  throw new ConfigError('instructions', `expected text, got ${shown(instructions)}`);
}

function resolveSecrets(
  given: Record<string, unknown>,
  env: Readonly<Record<string, string | undefined>>,
  ofStore: string[],
): ResolvedConfig['secrets'] {
  const { secrets = [], secretEnv = [] } = given;
  if (!Array.isArray(secrets)) throw new ConfigError('secrets', `expected a list of texts, got ${shown(secrets)}`);
  // A secret is never quoted, not even in the message about it.
  secrets.forEach((secret: unknown, index) => {
    if (typeof secret === 'string' && secret.length >= shortestSecret) return;
    const problem = typeof secret === 'string' ? 'a shorter text' : `a value of type ${typeof secret}`;
    throw new ConfigError(
      at('secrets', index),
      `expected text of ${String(shortestSecret)} characters or more, got ${problem}; is an environment variable missing?`,
    );
  });
  // A variable that is not set on this machine has no value to hide.
  const fromEnv = checkTexts('secretEnv', secretEnv).map((name) => env[name] ?? '');
  const found = [...fromEnv, ...ofStore].filter((value) => value.length >= shortestSecret);
  return [...new Set([...(secrets as string[]), ...found])];
}

function resolveWorkflows(workflows: unknown, rootDir: string): string | undefined {
  if (workflows === undefined) return undefined;
  const path = resolve(rootDir, checkText('workflows', workflows));
  if (!existsSync(path)) throw new ConfigError('workflows', `there is no file ${path}`);
  return path;
}
