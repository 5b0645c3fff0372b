import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/config-error.js';
import type { ModelChoice } from '../../src/models/model-choice.js';
import { resolveModel } from '../../src/models/resolve-model.js';
import { scriptedModel } from '../../src/models/scripted-model.js';
import { FakeProvider, delta, finish } from './fake-provider.js';
import { requestOf } from './requests.js';

let rootDir: string;
beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'perdure-models-'));
});
afterEach(() => rm(rootDir, { recursive: true }));

async function put(file: string, text: string): Promise<void> {
  await mkdir(dirname(join(rootDir, file)), { recursive: true });
  await writeFile(join(rootDir, file), text);
}

/** An ES module package as providers publish them, in the user's project. */
async function installProvider(provider: string, exportName: string): Promise<void> {
  const folder = `node_modules/@ai-sdk/${provider}`;
  const exported = {
    type: 'module',
    exports: { '.': { import: './index.js' } },
    name: `@ai-sdk/${provider}`,
    version: '1.0.0',
  };
  await put(`${folder}/package.json`, JSON.stringify(exported));
  await put(
    `${folder}/index.js`,
    `export const VERSION = '1';
     export const ${exportName} = (id) => ${exportName}.languageModel(id);
     ${exportName}.languageModel = (modelId) => ({ specificationVersion: 'v3', provider: '${provider}.chat', modelId, doStream() {} });`,
  );
}

const resolved = (choice: ModelChoice | undefined, env: Record<string, string> = {}) =>
  resolveModel(choice, { rootDir, env });

async function mistake(choice: ModelChoice | undefined, env: Record<string, string> = {}): Promise<string> {
  const error: unknown = await resolved(choice, env).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).message;
}

describe('a model given as an object', () => {
  it('is taken as it is, or adapted', async () => {
    const own = scriptedModel({ turns: [] });
    expect(await resolved(own)).toBe(own);
    const sdk = createOpenAICompatible({ name: 'local', baseURL: 'http://127.0.0.1:1/v1' })('m');
    expect((await resolved(sdk))?.name).toBe('local:m');
  });

  it('is refused where it is something else', async () => {
    expect(await mistake({} as ModelChoice)).toBe(
      "model: expected an AI SDK model, 'provider:model' or 'scripted:FILE', got {}",
    );
    const old = { specificationVersion: 'v1', provider: 'x', modelId: 'm' };
    expect(await mistake(old)).toContain('specification v2, v3, v4, got "v1"');
  });
});

describe('provider:model', () => {
  it('comes from the package in the user’s project', async () => {
    await installProvider('anthropic', 'anthropic');
    const model = await resolved('anthropic:claude-x', { ANTHROPIC_API_KEY: 'k' });
    expect(model?.name).toBe('anthropic:claude-x');
  });

  it('may hold further colons, and packages may export under a shorter name', async () => {
    await installProvider('amazon-bedrock', 'bedrock');
    expect((await resolved('amazon-bedrock:anthropic.claude:0'))?.name).toBe('amazon-bedrock:anthropic.claude:0');
  });

  it('names the package to install where it is missing', async () => {
    expect(await mistake('anthropic:claude-x')).toContain('Type: npm install @ai-sdk/anthropic');
    expect(await mistake('openai:gpt-x')).toContain("or write 'openai-compatible:gpt-x', which needs no package");
  });

  it('names the variable of a missing key', async () => {
    await installProvider('anthropic', 'anthropic');
    expect(await mistake('anthropic:claude-x')).toContain('set the environment variable ANTHROPIC_API_KEY');
  });

  it('says so where a package has no language models', async () => {
    await installProvider('odd', 'odd');
    await put('node_modules/@ai-sdk/odd/index.js', 'export const other = 1;');
    expect(await mistake('odd:m')).toContain('exports no ready-made provider');
  });

  it.each([
    ['gpt-5', "Write 'openai:gpt-5' (npm install @ai-sdk/openai)"],
    ['claude-sonnet', "Write 'anthropic:claude-sonnet'"],
    ['openai/gpt-5', '"openai/gpt-5" names no provider'],
    ['llama3', "'openai-compatible:llama3' for the server at OPENAI_BASE_URL"],
    ['', 'names no provider'],
    [':m', 'names no provider'],
    ['../x:m', 'names no provider'],
    ['openai:', 'names no model'],
  ])('is asked for where %j was written', async (name, words) => {
    // Also with keys of a gateway in the environment, and with packages installed.
    await installProvider('openai', 'openai');
    expect(await mistake(name, { AI_GATEWAY_API_KEY: 'k', OPENAI_API_KEY: 'k' })).toContain(words);
  });
});

describe('without a choice', () => {
  it('there is no model in an empty environment', async () => {
    expect(await resolved(undefined)).toBe(undefined);
  });

  it('OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL are used', async () => {
    const provider = await FakeProvider.start();
    provider.answer({ chunks: [delta({ content: 'ok' }), finish('stop')] });
    const env = { OPENAI_API_KEY: 'sk-env', OPENAI_BASE_URL: `${provider.baseUrl}/`, OPENAI_MODEL: 'local-1' };
    const model = await resolved(undefined, env);
    expect(model?.name).toBe('openai-compatible:local-1');
    expect((await model?.complete(requestOf()))?.text).toBe('ok');
    expect(provider.requests[0]).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer sk-env' },
      body: { model: 'local-1' },
    });
    await provider.close();
  });

  it('a local server needs no key, but the name of its model', async () => {
    const env = { OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1' };
    expect((await resolved(undefined, { ...env, OPENAI_MODEL: 'llama3' }))?.name).toBe('openai-compatible:llama3');
    expect(await mistake(undefined, env)).toContain('OPENAI_MODEL: is not set');
    expect((await resolved('openai-compatible:qwen', env))?.name).toBe('openai-compatible:qwen');
  });

  it('OpenAI itself has a default model and needs a key', async () => {
    expect((await resolved(undefined, { OPENAI_API_KEY: 'k' }))?.name).toBe('openai:gpt-4.1-mini');
    expect(await mistake('openai-compatible:gpt-x')).toContain('OPENAI_API_KEY: is not set');
  });

  it('a bad address is refused', async () => {
    expect(await mistake(undefined, { OPENAI_BASE_URL: 'localhost:1' })).toContain('expected an http or https address');
  });

  it('another provider’s key counts where its package is installed', async () => {
    const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_MODEL: 'claude-x' };
    expect(await resolved(undefined, env)).toBe(undefined);
    await installProvider('anthropic', 'anthropic');
    expect((await resolved(undefined, env))?.name).toBe('anthropic:claude-x');
  });
});

describe('scripted:FILE', () => {
  const answer = async (choice: string) => (await resolved(choice))?.complete(requestOf());

  it('reads JSON', async () => {
    await put('demo.json', '{"turns":[{"text":"from JSON"}]}');
    expect((await answer('scripted:demo.json'))?.text).toBe('from JSON');
  });

  it('reads TypeScript: a script, a function, or a model', async () => {
    await put(
      'script.ts',
      'const turns: { text: string }[] = [{ text: "script" }]; export default { name: "s", turns };',
    );
    await put(
      'each.mts',
      'export default (conversation: { turn: number }) => ({ text: `turn ${conversation.turn}` });',
    );
    await put(
      'model.js',
      'export default { name: "own", takesImages: false, complete: async () => ({ text: "own", calls: [] }) };',
    );
    expect((await answer('scripted:script.ts'))?.text).toBe('script');
    expect((await answer('scripted:each.mts'))?.text).toBe('turn 0');
    expect((await resolved('scripted:model.js'))?.name).toBe('own');
  });

  it.each([
    ['missing.json', undefined, /there is no file \/.+\/missing\.json$/],
    ['missing.ts', undefined, /there is no file \/.+\/missing\.ts$/],
    ['broken.json', '{\n  "turns": [\n    { "text" "Hi" }\n  ]\n}', /\/broken\.json:3:\d+: is not JSON: Expected ':'/],
    [
      'comma.json',
      '{ "turns": [{ "text": "Hi" },] }',
      /\/comma\.json: is not JSON: Unexpected token '\]', .+"Hi" },\] }/,
    ],
    ['cut.json', '{ "turns": [', /\/cut\.json: is not JSON: Unexpected end/],
    ['throws.ts', '\n\nthrow new Error("nowhere");', /\/throws\.ts:3: nowhere$/],
    ['syntax.ts', 'export default {\n  turns: [\n};', /\/syntax\.ts:3:\d+: Unexpected token/],
    ['imports.ts', "import './gone.js';", /imports '.+gone\.js', which does not exist/],
    ['empty.json', '{}', /expected \{ "turns": \[\{ "calls": .+ \}, \{ "text": "the answer" \}\] \}, got \{\}/],
    [
      'turn.json',
      '{"turns":["hello"]}',
      'turns[0]: expected { "text": … }, { "calls": [ … ] } or a function, got "hello"',
    ],
    ['key.json', '{"turns":[{"call":[]}]}', "turns[0].call: unknown; did you mean 'calls'?"],
    ['text.json', '{"turns":[{"text":1}]}', 'turns[0].text: expected a string, got 1'],
    [
      'calls.json',
      '{"turns":[{},{"calls":[{"input":{}}]}]}',
      'turns[1].calls[0].tool: expected the name of a tool, got undefined',
    ],
    ['call.json', '{"turns":[{"calls":[{"name":"get"}]}]}', 'turns[0].calls[0].name: unknown; expected tool, input, '],
    ['script.yaml', '', 'expected a file ending in .json, .ts'],
  ] as [string, string | undefined, string | RegExp][])('says what is wrong with %s', async (file, text, words) => {
    if (text !== undefined) await put(file, text);
    const said = await mistake(`scripted:${file}`);
    // A text is contained, an expression matches.
    expect(said).toMatch(words);
    expect(said).toContain(`model: scripted:${file}: `);
  });
});
