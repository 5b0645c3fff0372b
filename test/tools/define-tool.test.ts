import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/contract/json.js';
import { defineTool } from '../../src/tools/define-tool.js';
import { degraded } from '../../src/tools/results.js';
import type { ToolContext } from '../../src/tools/tool.js';

const ctx = {} as ToolContext;
const base = {
  name: 'refund',
  description: 'Refund a payment.',
  input: z.object({ paymentId: z.string(), cents: z.number().int().positive() }),
  execute: () => 'ok',
};
/** What JavaScript users can write and types cannot stop. */
const define = (options: object) => defineTool({ ...base, ...options });

describe('defineTool', () => {
  it('resolves every default', () => {
    const { definition, source } = defineTool(base);
    expect(source).toBe('function');
    expect(definition).toEqual({
      name: 'refund',
      description: 'Refund a payment.',
      inputSchema: expect.objectContaining({ type: 'object', required: ['paymentId', 'cents'] }) as unknown,
      examples: [],
      alternatives: [],
      policy: {
        effect: { kind: 'once' },
        timeoutMs: 30_000,
        budgetMs: 120_000,
        retry: {},
        reconciles: false,
        refreshes: false,
        eventuallyConsistent: false,
        polling: false,
        maxOutputBytes: 10_485_760,
        failureOutput: 'summary',
        errors: 'redacted',
        breaker: { failures: 5, windowMs: 600_000, coolDownMs: 30_000 },
        limiter: null,
        retryBudget: { tokens: 100, perSuccess: 0.2, perMinute: 10 },
        exclusive: false,
      },
    });
  });

  it('types the arguments and the result from the schema and the body', () => {
    defineTool({
      ...base,
      input: z.object({ at: z.iso.datetime().transform((text) => new Date(text)), note: z.string().optional() }),
      execute: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ at: Date; note?: string | undefined }>();
        return input.note === undefined ? { days: 3 } : degraded({ days: 2 }, { reason: 'cached' });
      },
      isFailure: (result) => {
        expectTypeOf(result).toEqualTypeOf<{ days: number }>();
        return false;
      },
      examples: [{ at: '2026-01-01T00:00:00Z' }],
    });
    defineTool({
      ...base,
      input: { type: 'object', properties: {} },
      execute: (input) => {
        expectTypeOf(input).toEqualTypeOf<JsonObject>();
        return 1;
      },
    });
    // @ts-expect-error an example must be what the schema takes
    const wrong = () => defineTool({ ...base, examples: [{ paymentId: 3, cents: 1 }] });
    expect(wrong).toThrow('tools.refund.examples[0]: does not fit');
  });

  it.each([
    [{ timeoutMs: '45s' }, { timeoutMs: 45_000, budgetMs: 120_000 }],
    [{ timeoutMs: '5m' }, { timeoutMs: 300_000, budgetMs: 300_000 }],
    [{ latency: 'interactive' }, { timeoutMs: 10_000, budgetMs: 10_000 }],
    [
      { latency: 'interactive', timeoutMs: '20s' },
      { timeoutMs: 20_000, budgetMs: 20_000 },
    ],
    [
      { latency: 'interactive', budgetMs: '15s' },
      { timeoutMs: 15_000, budgetMs: 15_000 },
    ],
    [{ budgetMs: 5000 }, { timeoutMs: 5000, budgetMs: 5000 }],
    [{ effect: 'read' }, { effect: { kind: 'read' } }],
    [{ effect: { idempotent: 'nature' } }, { effect: { kind: 'idempotent', by: 'nature' } }],
    [{ effect: { idempotent: 'key' } }, { effect: { kind: 'idempotent', by: 'key', keyTtlMs: 86_400_000 } }],
    [
      { effect: { idempotent: 'key', keyTtlMs: '30d' } },
      { effect: { kind: 'idempotent', by: 'key', keyTtlMs: 2_592_000_000 } },
    ],
    [{ retry: { timeout: 'model' } }, { retry: { timeout: { owner: 'model' } } }],
    [
      { retry: { server_error: { maxAttempts: 5, baseDelayMs: '2s' } } },
      { retry: { server_error: { maxAttempts: 5, baseDelayMs: 2000 } } },
    ],
    [
      { reconcile: () => undefined, refresh: () => undefined },
      { reconciles: true, refreshes: true },
    ],
    [
      { polling: true, eventuallyConsistent: true, taskQueue: 'gpu', failureOutput: 'verbatim', errors: 'public' },
      { polling: true, eventuallyConsistent: true, taskQueue: 'gpu', failureOutput: 'verbatim', errors: 'public' },
    ],
    [
      { breaker: { failures: 3, coolDownMs: '1m' } },
      { breaker: { failures: 3, windowMs: 600_000, coolDownMs: 60_000 } },
    ],
    [
      { breaker: false, retryBudget: false },
      { breaker: null, retryBudget: null },
    ],
    [{ retryBudget: { tokens: 5 } }, { retryBudget: { tokens: 5, perSuccess: 0.2, perMinute: 10 } }],
    [{ limiter: { requestsPerMinute: 60, concurrency: 2 } }, { limiter: { requestsPerMinute: 60, concurrency: 2 } }],
    [{ exclusive: () => 'x' }, { exclusive: true }],
  ])('resolves %j', (options, policy) => {
    expect(define(options).definition.policy).toMatchObject(policy);
  });

  it.each([
    [{ name: undefined }, 'a tool’s name: expected text, got undefined'],
    [{ name: '' }, 'a tool’s name: expected text, got an empty one'],
    [{ description: 7 }, 'tools.refund.description: expected text, got 7'],
    [{ execute: undefined }, 'tools.refund.execute: expected a function, got undefined'],
    [{ timeoutMS: 1 }, "tools.refund.timeoutMS: unknown option; did you mean 'timeoutMs'?"],
    [{ zzz: 1 }, 'tools.refund.zzz: unknown option'],
    [{ timeoutMs: 0 }, 'tools.refund.timeoutMs: expected 1 ms or more, got 0'],
    [{ timeoutMs: '30s', budgetMs: '10s' }, "tools.refund.budgetMs: expected timeoutMs (30000) or more, got '10s'"],
    [{ latency: 'fast' }, "tools.refund.latency: expected 'interactive' or 'background', got 'fast'"],
    [{ retry: { timeout: { maxAttempts: 0 } } }, 'tools.refund.retry.timeout.maxAttempts: expected 1 or more, got 0'],
    [
      { retry: { timeout: { maxAttempts: 1.5 } } },
      'tools.refund.retry.timeout.maxAttempts: expected a whole number, got 1.5',
    ],
    [
      { retry: { timeout: { maxAttempt: 2 } } },
      "tools.refund.retry.timeout.maxAttempt: unknown option; did you mean 'maxAttempts'?",
    ],
    [{ retry: { time_out: 'model' } }, "tools.refund.retry.time_out: unknown failure class; did you mean 'timeout'?"],
    [
      { retry: { timeout: 'modle' } },
      "tools.refund.retry.timeout: expected 'executor' or 'model' or 'never', got 'modle'; did you mean 'model'?",
    ],
    [
      { retry: { outcome_unknown: 'executor' } },
      'tools.refund.retry.outcome_unknown: a lost answer is never run again',
    ],
    [{ effect: 'write' }, "tools.refund.effect: expected 'read', 'once'"],
    [
      { effect: { idempotent: 'keys' } },
      "tools.refund.effect.idempotent: expected 'key' or 'nature', got 'keys'; did you mean 'key'?",
    ],
    [{ effect: { idempotent: 'nature', keyTtlMs: 5 } }, 'tools.refund.effect.keyTtlMs: unknown option'],
    [{ maxOutputBytes: NaN }, 'tools.refund.maxOutputBytes: expected a number, got NaN'],
    [{ polling: 'yes' }, "tools.refund.polling: expected true or false, got 'yes'"],
    [{ alternatives: [1] }, 'tools.refund.alternatives[0]: expected text, got 1'],
    [{ messages: { timeout: { text: 'x' } } }, 'tools.refund.messages.timeout.text: unknown option'],
    [{ messages: { timeOut: {} } }, "tools.refund.messages.timeOut: unknown failure class; did you mean 'timeout'?"],
    [{ exclusive: 'x' }, "tools.refund.exclusive: expected a function, got 'x'"],
    [{ breakerKey: 7 }, 'tools.refund.breakerKey: expected a function, got 7'],
    [{ breaker: true }, 'tools.refund.breaker: expected an object, got true'],
    [{ breaker: { failures: 0 } }, 'tools.refund.breaker.failures: expected 1 or more, got 0'],
    [{ breaker: { failure: 3 } }, "tools.refund.breaker.failure: unknown option; did you mean 'failures'?"],
    [
      { breaker: { coolDownMs: 'soon' } },
      "tools.refund.breaker.coolDownMs: expected milliseconds or a text such as '30s'",
    ],
    [{ limiter: {} }, 'tools.refund.limiter: expected at least one of requestsPerMinute, tokensPerMinute, concurrency'],
    [{ limiter: { requestsPerMinute: 0 } }, 'tools.refund.limiter.requestsPerMinute: expected 1 or more, got 0'],
    [{ limiter: { concurrency: 1.5 } }, 'tools.refund.limiter.concurrency: expected a whole number, got 1.5'],
    [{ retryBudget: { tokens: NaN } }, 'tools.refund.retryBudget.tokens: expected a number, got NaN'],
    [{ retryBudget: { perSuccess: -1 } }, 'tools.refund.retryBudget.perSuccess: expected 0 or more, got -1'],
    [{ input: undefined }, 'tools.refund.input: expected JSON, got undefined'],
    [{ input: [] }, 'tools.refund.input: expected a zod schema or a JSON Schema object, got an empty list'],
    [{ input: z.string() }, 'tools.refund.input: expected an object schema'],
    [{ input: z.object({ at: z.date() }) }, 'z.iso.datetime().transform'],
    [{ input: z.object({ n: z.bigint() }) }, 'tools.refund.input: this schema cannot be written as JSON Schema'],
    [{ output: z.object({ at: z.date() }) }, 'tools.refund.output: this schema cannot be written as JSON Schema'],
    [
      { input: { '~standard': { version: 1, vendor: 'valibot', validate: () => ({ value: 1 }) } } },
      'tools.refund.input: this valibot schema gives no JSON Schema to show to models',
    ],
    [{ examples: {} }, 'tools.refund.examples: expected a list of arguments, got an object'],
    [{ examples: [{ paymentId: 'p', cents: -1 }] }, 'tools.refund.examples[0]: does not fit the tool'],
    [
      { input: { type: 'object', required: ['a'] }, examples: [{ b: 1 }] },
      "tools.refund.examples[0]: does not fit the tool's own schema: the example must have required property 'a'",
    ],
  ])('refuses %j with path and value', (options, message) => {
    expect(() => define(options)).toThrow(message);
    expect(() => define(options)).toThrow(expect.objectContaining({ name: 'ConfigError' }) as Error);
  });

  it('refuses a schema object that contains itself, at once', () => {
    const input: Record<string, unknown> = { type: 'object', properties: {} };
    (input['properties'] as Record<string, unknown>)['self'] = input;
    expect(() => define({ input })).toThrow('expected JSON, got an object that contains itself');
  });

  it('keeps a plain JSON Schema, a root union and a recursive schema as they are', () => {
    const input = { $schema: 'http://json-schema.org/draft-07/schema#', anyOf: [{ type: 'object' }] };
    expect(define({ input }).definition.inputSchema).toEqual(input);
    const node: z.ZodType = z.object({
      name: z.string(),
      get kids() {
        return z.array(node);
      },
    });
    expect(JSON.stringify(define({ input: node }).definition.inputSchema)).toContain('"$ref":"#"');
  });

  it('never puts notes, messages or functions into the definition', () => {
    const tool = define({
      notes: 'INTERNAL: ask Jo',
      messages: { timeout: { message: 'zu langsam' } },
      suggest: () => ({}),
    });
    expect(JSON.stringify(tool.definition)).not.toContain('INTERNAL');
    expect(JSON.parse(JSON.stringify(tool.definition))).toEqual(tool.definition);
    expect(tool.messages).toEqual({ timeout: { message: 'zu langsam' } });
  });

  it('parses with the schema’s transforms, and lists every violation of a refinement', async () => {
    const tool = defineTool({
      ...base,
      input: z
        .object({ from: z.iso.date().transform((text) => new Date(text)), list: z.array(z.string().max(2)) })
        .refine(({ list }) => list.length > 0, { path: ['list'], message: 'name at least one' }),
    });
    expect(await tool.parse({ from: '2026-01-02', list: ['a'] })).toEqual({
      ok: true,
      value: { from: new Date('2026-01-02'), list: ['a'] },
    });
    expect(await tool.parse({ from: '2026-01-02', list: [] })).toEqual({
      ok: false,
      violations: [{ path: '/list', problem: 'name at least one', expected: 'array' }],
    });
    const bad = await tool.parse({ from: 'x', list: ['abc'] });
    expect(bad).toMatchObject({ ok: false, violations: [{ path: '/from' }, { path: '/list/0', expected: 'string' }] });
  });

  it('turns a schema check that itself throws into a violation', async () => {
    const input = z.object({}).transform(() => {
      throw new Error('boom');
    });
    expect(await define({ input }).parse({})).toEqual({
      ok: false,
      violations: [
        {
          path: '',
          problem: 'these arguments could not be checked: boom',
          expected: 'arguments that the tool can read',
        },
      ],
    });
  });

  it('runs the body with its own `this`, and a synchronous throw rejects', async () => {
    class Counter {
      name = 'count';
      description = 'Counts.';
      input = { type: 'object' };
      execute = () => {
        throw new Error('no');
      };
    }
    await expect(defineTool(new Counter()).execute({}, ctx)).rejects.toThrow('no');
  });

  it('refreshes once for calls that ask at the same time, and again later', async () => {
    let refreshes = 0;
    const tool = define({
      refresh: async () => {
        refreshes += 1;
        await new Promise((resolve) => setTimeout(resolve, 5));
      },
    });
    await Promise.all([tool.refresh?.(ctx), tool.refresh?.(ctx), tool.refresh?.(ctx)]);
    expect(refreshes).toBe(1);
    await tool.refresh?.(ctx);
    expect(refreshes).toBe(2);
  });

  it('shows isFailure what a fallback mark holds', () => {
    const tool = define({
      isFailure: (result: { ok: boolean }) => !result.ok && { class: 'tool_error', message: 'refused' },
    });
    expect(tool.isFailure?.(degraded({ ok: true }, { reason: 'cached' }))).toBe(false);
    expect(tool.isFailure?.({ ok: false })).toEqual({ class: 'tool_error', message: 'refused' });
  });
});
