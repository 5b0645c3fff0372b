import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { createJiti } from 'jiti';
import { ConfigError } from '../config/config-error.js';
import type { AiSdkModel, ModelChoice } from './model-choice.js';
import { aiSdkModel } from './ai-sdk-model.js';
import type { Model } from './model.js';
import { openAiCompatibleModel } from './openai-compatible-model.js';
import { loadScriptedModel } from './scripted-file.js';

export interface ResolveModelOptions {
  /** Folder from which providers' packages are found and script files are read. */
  rootDir: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Where the chosen model brings none of its own. */
  prices?: Model['prices'];
}

/** The variable that each provider's package reads its key from; others (Bedrock, Vertex) find theirs in many ways. */
const KEY_VARIABLES = new Map([
  ['openai', 'OPENAI_API_KEY'],
  ['anthropic', 'ANTHROPIC_API_KEY'],
  ['google', 'GOOGLE_GENERATIVE_AI_API_KEY'],
  ['mistral', 'MISTRAL_API_KEY'],
  ['groq', 'GROQ_API_KEY'],
  ['xai', 'XAI_API_KEY'],
  ['deepseek', 'DEEPSEEK_API_KEY'],
  ['cohere', 'COHERE_API_KEY'],
  ['fireworks', 'FIREWORKS_API_KEY'],
  ['cerebras', 'CEREBRAS_API_KEY'],
  ['perplexity', 'PERPLEXITY_API_KEY'],
  ['deepinfra', 'DEEPINFRA_API_KEY'],
]);

/** Tried in this order where nothing is configured; used only if the package is installed. */
const PROVIDERS_BY_KEY = [
  { provider: 'anthropic', modelVariable: 'ANTHROPIC_MODEL', model: 'claude-sonnet-4-5' },
  { provider: 'google', modelVariable: 'GOOGLE_MODEL', model: 'gemini-2.5-flash' },
] as const;

const OPENAI_URL = 'https://api.openai.com/v1';
/** Used with OpenAI's own address only: other servers have other names. */
const OPENAI_MODEL = 'gpt-4.1-mini';

/**
 * The model that a person chose, or that the environment offers.
 *
 * - an AI SDK model, or a `Model`: itself, with `prices` where it brings none
 * - `scripted:FILE`: see `loadScriptedModel`
 * - `openai-compatible:NAME`: that model of the server at `OPENAI_BASE_URL`
 * - `provider:model`: the model of `@ai-sdk/<provider>`, which must be installed in the user's project
 * - undefined: `OPENAI_API_KEY` or `OPENAI_BASE_URL` with `OPENAI_MODEL`; else the key of a provider whose package is
 *   installed; else undefined
 *
 * A name without a provider is refused: the AI SDK would send it, and the whole conversation, to a gateway. Throws
 * ConfigError that says what to write, install or set. Nothing is sent anywhere.
 */
export async function resolveModel(
  choice: ModelChoice | undefined,
  options: ResolveModelOptions,
): Promise<Model | undefined> {
  if (choice === undefined) return modelOfEnvironment(options);
  if (typeof choice === 'string') return modelOfName(choice, options);
  if (isModel(choice)) return withPrices(choice, options.prices);
  if (typeof choice === 'object' && choice !== null && 'specificationVersion' in choice) {
    return aiSdkModel(choice, pricesOf(options));
  }
  throw new ConfigError(
    'model',
    `expected an AI SDK model, 'provider:model' or 'scripted:FILE', got ${JSON.stringify(choice) ?? String(choice)}`,
  );
}

function withPrices(model: Model, prices: Model['prices']): Model {
  if (model.prices || !prices) return model;
  return {
    name: model.name,
    takesImages: model.takesImages,
    prices,
    complete: (request) => model.complete(request),
  };
}

function isModel(choice: AiSdkModel | Model | null): choice is Model {
  return typeof choice === 'object' && choice !== null && 'complete' in choice && typeof choice.complete === 'function';
}

async function modelOfName(name: string, options: ResolveModelOptions): Promise<Model> {
  const colon = name.indexOf(':');
  const provider = name.slice(0, Math.max(colon, 0));
  const model = name.slice(colon + 1).trim();
  if (!/^[a-z0-9][a-z0-9-]*$/.test(provider)) throw withoutProvider(name);
  if (model === '') throw new ConfigError('model', `${JSON.stringify(name)} names no model after '${provider}:'`);
  if (provider === 'scripted') return loadScriptedModel(model, options.rootDir, options.prices);
  if (provider === 'openai-compatible') return openAiOfEnvironment(model, options);
  return modelOfPackage(provider, model, options);
}

function withoutProvider(name: string): ConfigError {
  const family = FAMILIES.find(([pattern]) => pattern.test(name))?.[1];
  const example = family ? `'${family}:${name}' (npm install @ai-sdk/${family})` : `'anthropic:${name}' or the like`;
  return new ConfigError(
    'model',
    `${JSON.stringify(name)} names no provider. Write ${example}, 'openai-compatible:${name}' for the server at OPENAI_BASE_URL, or 'scripted:FILE'`,
  );
}

const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/^(gpt|o\d|chatgpt)/, 'openai'],
  [/^claude/, 'anthropic'],
  [/^gemini/, 'google'],
  [/^(mistral|codestral|ministral|magistral)/, 'mistral'],
  [/^grok/, 'xai'],
  [/^deepseek/, 'deepseek'],
];

async function modelOfPackage(provider: string, model: string, options: ResolveModelOptions): Promise<Model> {
  const name = `@ai-sdk/${provider}`;
  const url = findPackage(name, options.rootDir);
  if (url === undefined) {
    const otherWay = provider === 'openai' ? `, or write 'openai-compatible:${model}', which needs no package` : '';
    throw new ConfigError(
      'model',
      `'${provider}:${model}' needs the package ${name}, which is not installed in ${options.rootDir}. Type: npm install ${name}${otherWay}`,
    );
  }
  const variable = KEY_VARIABLES.get(provider);
  if (variable !== undefined && !options.env[variable]) {
    throw new ConfigError('model', `'${provider}:${model}' needs a key: set the environment variable ${variable}`);
  }
  const exported = (await import(url)) as Record<string, unknown>;
  const found = providerOf(exported, provider);
  if (!found) throw new ConfigError('model', `${name} exports no ready-made provider of language models`);
  try {
    return aiSdkModel(found.languageModel(model), pricesOf(options));
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError('model', `${name} refused '${model}' (${(cause as Error).message})`, { cause });
  }
}

interface Provider {
  languageModel(model: string): AiSdkModel;
}

/** Packages export a ready-made provider under their own name in camel case; some (Bedrock, Vertex) under a shorter one. */
function providerOf(exported: Record<string, unknown>, provider: string): Provider | undefined {
  const camelCase = provider.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return [exported[camelCase], ...Object.values(exported)].find(isProvider);
}

function isProvider(value: unknown): value is Provider {
  const callable = typeof value === 'function' || (typeof value === 'object' && value !== null);
  return callable && typeof (value as Partial<Provider>).languageModel === 'function';
}

/** From the user's project, not from where perdure itself is installed; providers are ES modules. */
function findPackage(name: string, rootDir: string): string | undefined {
  const jiti = createJiti(pathToFileURL(join(rootDir, 'perdure.config.ts')).href);
  return jiti.esmResolve(name, { try: true });
}

async function modelOfEnvironment(options: ResolveModelOptions): Promise<Model | undefined> {
  const { env, rootDir } = options;
  if (env['OPENAI_API_KEY'] || env['OPENAI_BASE_URL']) return openAiOfEnvironment(env['OPENAI_MODEL'], options);
  for (const { provider, modelVariable, model } of PROVIDERS_BY_KEY) {
    const usable = env[KEY_VARIABLES.get(provider) as string] && findPackage(`@ai-sdk/${provider}`, rootDir);
    if (usable) return modelOfPackage(provider, env[modelVariable] || model, options);
  }
  return undefined;
}

function openAiOfEnvironment(model: string | undefined, options: ResolveModelOptions): Model {
  const apiKey = options.env['OPENAI_API_KEY'];
  const baseUrl = options.env['OPENAI_BASE_URL'] || OPENAI_URL;
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new ConfigError('OPENAI_BASE_URL', `expected an http or https address, got ${JSON.stringify(baseUrl)}`);
  }
  const isOpenAi = new URL(baseUrl).hostname === new URL(OPENAI_URL).hostname;
  if (isOpenAi && !apiKey)
    throw new ConfigError('OPENAI_API_KEY', 'is not set, and OpenAI answers nobody without a key');
  const name = model || (isOpenAi ? OPENAI_MODEL : undefined);
  if (name === undefined) {
    throw new ConfigError('OPENAI_MODEL', `is not set: name the model that the server at ${baseUrl} should use`);
  }
  return openAiCompatibleModel({
    baseUrl,
    model: name,
    provider: isOpenAi ? 'openai' : 'openai-compatible',
    ...(apiKey && { apiKey }),
    ...pricesOf(options),
  });
}

function pricesOf(options: ResolveModelOptions): { prices?: NonNullable<Model['prices']> } {
  return options.prices ? { prices: options.prices } : {};
}
