import { agentAsTool } from '../../src/tools/agent-tool.js';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { resolveConfig, resolveLimits } from '../../src/config/resolve-config.js';
import { defineTool } from '../../src/tools/define-tool.js';
import type { Model } from '../../src/models/model.js';

const model: Model = {
  name: 'test:model',
  takesImages: false,
  complete: () => Promise.resolve({ text: '', calls: [], finishReason: 'stop' }),
};
const options = { name: 'a', description: 'A.', input: { type: 'object' }, execute: () => 1 };
const a = defineTool(options);
const resolveWith = (config: object, env: Record<string, string> = {}) =>
  resolveConfig({ tools: [], ...config }, { rootDir: '/app', env });

describe('resolveConfig', () => {
  it.each<[object, string]>([
    [{ tool: [] }, "tool: unknown option; did you mean 'tools'?"],
    [{ tools: undefined }, 'tools: expected a list of tools, got undefined'],
    [{ tools: { a } }, 'tools: expected a list of tools, got an object'],
    [
      { tools: [{ name: 'x', execute: () => 1 }] },
      'tools[0]: expected a tool, got the options of one; wrap them: defineTool({ … })',
    ],
    [{ tools: [{ name: 'x', url: 'https://x' }] }, 'wrap them: httpTool({ … })'],
    [{ tools: ['x'] }, "tools[0]: expected an object, got 'x'"],
    [{ tools: [{ ...a, execute: 1 }] }, 'tools[0].execute: expected a function, got 1'],
    [{ tools: [a, a] }, "tools[1]: the name 'a' is taken by tools[0]"],
    [
      { tools: [defineTool({ ...options, name: 'read_artifact' })] },
      "tools[0]: the name 'read_artifact' is taken by a built-in tool",
    ],
    [{ instructions: 5 }, 'instructions: expected text, got 5'],
    [{ limits: { stepz: 5 } }, "limits.stepz: unknown option; did you mean 'steps'?"],
    [{ limits: [] }, 'limits: expected an object, got an empty list'],
    [{ alerts: { webhok: 'x' } }, "alerts.webhok: unknown option; did you mean 'webhook'?"],
    [{ alerts: { webhook: 5 } }, 'alerts.webhook: expected text, got 5'],
    [{ alerts: { webhook: 'ftp://x' } }, "alerts.webhook: expected an http or https URL, got 'ftp://x'"],
    [{ prices: { inputPerMillion: 1 } }, 'prices.outputPerMillion: expected a number, got undefined'],
    [{ store: { file: 'x' } }, 'store.file: unknown option'],
    [{ store: { path: '' } }, 'store.path: expected text, got an empty one'],
    [{ worker: { maxConcurrentCalls: 0 } }, 'worker.maxConcurrentCalls: expected 1 or more, got 0'],
    [
      { worker: { heartbeatTimeoutMs: 'x' } },
      "worker.heartbeatTimeoutMs: expected milliseconds or a text such as '30s' or '5m', got 'x'",
    ],
    [{ secrets: 'x' }, "secrets: expected a list of texts, got 'x'"],
    [
      { secrets: [undefined] },
      'secrets[0]: expected text of 4 characters or more, got a value of type undefined; is an environment variable missing?',
    ],
    [{ secrets: ['abc'] }, 'secrets[0]: expected text of 4 characters or more, got a shorter text'],
    [{ secretEnv: [1] }, 'secretEnv[0]: expected text, got 1'],
    [{ modelLimits: { perMinute: 5 } }, 'modelLimits.perMinute: unknown option'],
    [{ modelLimits: {} }, 'modelLimits: expected at least one of requestsPerMinute, tokensPerMinute, concurrency'],
    [{ modelLimits: { tokensPerMinute: 0 } }, 'modelLimits.tokensPerMinute: expected 1 or more, got 0'],
    [{ loop: { equalCalls: 0 } }, 'loop.equalCalls: expected 1 or more, got 0'],
    [{ loop: { onExhausted: 'ask' } }, "loop.onExhausted: expected 'stop' or 'model', got 'ask'"],
    [{ loop: { onExhausted: 'person' } }, "loop.onExhausted: 'person' is not yet in this version"],
    [{ workflows: './nope.ts' }, 'workflows: there is no file /app/nope.ts'],
    [{ model, limits: { costUsd: 2 } }, 'limits.costUsd: the prices of test:model are not known; add prices:'],
  ])('refuses %j with path and value', async (config, message) => {
    await expect(resolveWith(config)).rejects.toThrow(message);
    await expect(resolveWith(config)).rejects.toMatchObject({ name: 'ConfigError' });
  });

  it('resolves what a run does about repeated calls, and the limits of models', async () => {
    expect(await resolveWith({})).toMatchObject({ loop: { equalCalls: 2, onExhausted: 'stop' } });
    expect(
      await resolveWith({ loop: { onExhausted: 'model', equalCalls: 4 }, modelLimits: { requestsPerMinute: 50 } }),
    ).toMatchObject({ loop: { onExhausted: 'model', equalCalls: 4 }, modelLimits: { requestsPerMinute: 50 } });
  });

  it('takes a tool written by hand', async () => {
    const byHand = { definition: a.definition, source: 'mcp', parse: a.parse, execute: a.execute };
    expect((await resolveWith({ tools: [byHand] })).tools).toEqual([byHand]);
  });

  it('refuses a cap on cost where an agent has a model of its own without prices', async () => {
    const agent = (limits = {}) =>
      agentAsTool({ name: 'helper', description: 'Helps.', model: { ...model, name: 'test:child' }, limits });
    const prices = { inputPerMillion: 1, outputPerMillion: 2 };
    const priced = { ...model, prices };
    const refusal = 'tools[0].model: the prices of test:child are not known; add prices:';
    await expect(resolveWith({ model: priced, tools: [agent()], limits: { costUsd: 2 } })).rejects.toThrow(refusal);
    await expect(resolveWith({ model: priced, tools: [agent({ costUsd: 1 })] })).rejects.toThrow(refusal);
    expect(await resolveWith({ model: priced, tools: [agent()] })).toMatchObject({ limits: { costUsd: null } });
    expect(await resolveWith({ model, prices, tools: [agent()], limits: { costUsd: 2 } })).toMatchObject({ prices });
  });

  it('gives prices to a model that has none, and keeps a model’s own', async () => {
    const prices = { inputPerMillion: 1, outputPerMillion: 2 };
    const resolved = await resolveWith({ model, prices, limits: { costUsd: 2 } });
    expect(resolved.model).toMatchObject({ name: 'test:model', prices });
    const own = { ...model, prices: { inputPerMillion: 3, outputPerMillion: 4 } };
    expect((await resolveWith({ model: own, prices })).model).toBe(own);
  });

  it('takes secrets as they are and by the names of environment variables', async () => {
    const { secrets } = await resolveWith(
      { secrets: ['s3cret'], secretEnv: ['API_KEY', 'NOT_SET', 'SHORT'] },
      { API_KEY: 'sk-abc', SHORT: 'x' },
    );
    expect(secrets).toEqual(['s3cret', 'sk-abc']);
  });
});

describe('resolveLimits (case L03)', () => {
  it('reads 0 as none left and null as no cap', () => {
    expect(resolveLimits('limits', { steps: 0, calls: 0, tokens: null, wallTimeMs: '2h', costUsd: 0.5 })).toEqual({
      steps: 0,
      calls: 0,
      tokens: null,
      costUsd: 0.5,
      wallTimeMs: 7_200_000,
      failures: null,
    });
    expect(resolveLimits('limits', { steps: null }).steps).toBeNull();
    expect(resolveLimits('limits', undefined).steps).toBe(25);
    expect(resolveLimits('limits', { wallTimeMs: '60d' }).wallTimeMs).toBe(5_184_000_000);
  });

  it.each<[object, string]>([
    [{ steps: 'abc' }, "limits.steps: expected a number, got 'abc'"],
    [{ steps: '25' }, "limits.steps: expected a number, got '25'"],
    [{ steps: NaN }, 'limits.steps: expected a number, got NaN'],
    [{ steps: -1 }, 'limits.steps: expected 0 or more, got -1'],
    [{ steps: 1.5 }, 'limits.steps: expected a whole number, got 1.5'],
    [{ steps: Infinity }, 'limits.steps: expected a number, got Infinity; null is no limit'],
    [{ costUsd: 'free' }, "limits.costUsd: expected a number, got 'free'"],
    [{ tokens: true }, 'limits.tokens: expected a number, got true'],
    [{ wallTimeMs: 'abc' }, "limits.wallTimeMs: expected milliseconds or a text such as '30s' or '5m', got 'abc'"],
  ])('refuses %j, because a limit that cannot be read must not become none', (limits, message) => {
    expect(() => resolveLimits('limits', limits)).toThrow(message);
  });

  it('gives null or a finite number of 0 or more for every cap, or throws', () => {
    const value = fc.oneof(fc.anything(), fc.double(), fc.integer(), fc.constantFrom('30s', null, undefined, Infinity));
    fc.assert(
      fc.property(
        fc.constantFrom('steps', 'calls', 'tokens', 'costUsd', 'wallTimeMs', 'failures'),
        value,
        (key, cap) => {
          let limits: Record<string, number | null>;
          try {
            limits = { ...resolveLimits('limits', { [key]: cap }) };
          } catch (error) {
            expect((error as Error).name).toBe('ConfigError');
            return;
          }
          for (const each of Object.values(limits)) {
            expect(each === null || (Number.isFinite(each) && each >= 0)).toBe(true);
          }
          if (limits[key] === null) expect(cap === null || cap === undefined).toBe(true);
        },
      ),
    );
  });
});

describe('a configuration for reading', () => {
  const read = (config: object) =>
    resolveConfig({ tools: [a], ...config }, { rootDir: '/app', env: {}, forReading: true });

  it.each(['scripted:gone.json', 'openai:gpt-5', 'gpt-5'])(
    'needs no model, not even the broken one %s',
    async (name) => {
      await expect(resolveWith({ tools: [a], model: name })).rejects.toThrow(/^model: /);
      expect(await read({ model: name })).toMatchObject({ model: undefined, tools: [{ definition: { name: 'a' } }] });
    },
  );

  it('needs no prices for a cap on cost', async () => {
    await expect(resolveWith({ model, limits: { costUsd: 1 } })).rejects.toThrow('limits.costUsd');
    expect((await read({ model, limits: { costUsd: 1 } })).limits.costUsd).toBe(1);
  });

  it('is refused for any other mistake', async () => {
    await expect(read({ store: { paht: 'x' } })).rejects.toThrow(/^store/);
  });
});
