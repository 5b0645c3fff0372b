import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineTool, httpTool, ToolError } from '../../../src/index.js';
import type { JsonObject } from '../../../src/index.js';
import { playScene, type Scene } from '../../support/agent-scene.js';

const secret = 'hunter2/öl? & more';
const fromEnv = 'tok-en:77%zz';
const declared = [secret, fromEnv];
/** A secret's spellings; what of base64 does not depend on its neighbours. */
const spellings = declared.flatMap((each) => [
  each,
  encodeURIComponent(each),
  encodeURIComponent(each).replaceAll('%20', '+'),
  Buffer.from(each)
    .toString('base64')
    .replace(/.{0,2}=*$/, ''),
  JSON.stringify(each).slice(1, -1),
]);
const leaks = (value: unknown): string[] => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return spellings.filter(
    (spelling) => text.includes(spelling) || text.includes(JSON.stringify(spelling).slice(1, -1)),
  );
};

const anything: JsonObject = { type: 'object', properties: { note: { type: 'string' }, password: { type: 'string' } } };
const received: unknown[] = [];
const base64 = Buffer.from(`user:${secret}`).toString('base64');
const thrown: Record<string, () => unknown> = {
  message: () => new Error(`cannot sign in with ${secret}`),
  headers: () =>
    Object.assign(new Error('refused'), {
      status: 500,
      config: {
        headers: { authorization: `Basic ${base64}` },
        url: `https://x.test/?key=${encodeURIComponent(secret)}`,
      },
      response: { status: 500, headers: { 'x-echo': secret }, data: { message: `bad token ${fromEnv}` } },
    }),
  cause: () => new Error('outer', { cause: new Error(`inner ${base64}`) }),
  public: () =>
    new ToolError({
      class: 'not_found',
      publicMessage: `nothing under ${secret}`,
      hint: `not ${fromEnv}`,
      alternatives: [`use ${secret}`],
      message: `operator ${secret}`,
    }),
  plain: () => ({ oops: secret }),
  text: () => `just ${encodeURIComponent(secret)} thrown`,
};
const throwing = Object.entries(thrown).map(([name, make]) =>
  defineTool({
    name: `throws_${name}`,
    description: 'd',
    input: anything,
    effect: 'read',
    execute: () => Promise.reject(make() as Error),
  }),
);
const leaking = [
  defineTool({
    name: 'returns',
    description: 'd',
    input: anything,
    effect: 'read',
    execute: () => ({ list: [`key ${secret}`], note: base64 }),
  }),
  defineTool({
    name: 'returns_much',
    description: 'd',
    input: anything,
    effect: 'read',
    execute: () => `${secret}\n`.repeat(2_000),
  }),
  defineTool({
    name: 'logs',
    description: 'd',
    input: anything,
    effect: 'read',
    execute: async (_input, ctx) => {
      ctx.log.info(`signed in with ${secret}`, {
        token: fromEnv,
        error: new Error(secret),
        map: new Map([[1, secret]]),
      });
      ctx.progress(`half way with ${secret}`);
      await ctx.bestEffort('audit', () => Promise.reject(new Error(`no audit for ${secret}`)));
      return 'ok';
    },
  }),
  defineTool({
    name: 'refuses',
    description: 'd',
    input: anything,
    effect: 'read',
    isFailure: () => ({ class: 'business_rule_violation', message: `no, ${secret}` }),
    execute: () => 'x',
  }),
  defineTool({
    name: 'judges',
    description: 'd',
    input: anything,
    effect: 'read',
    isFailure: () => {
      throw new Error(secret);
    },
    execute: () => 'x',
  }),
  defineTool({
    name: 'suggests',
    description: 'd',
    input: anything,
    effect: 'read',
    suggest: () => ({ hint: `with ${secret}`, alternatives: [fromEnv] }),
    execute: () => {
      throw new Error('no');
    },
  }),
  defineTool({
    name: 'reconciles',
    description: 'd',
    input: anything,
    reconcile: () => {
      throw new Error(`cannot look with ${secret}`);
    },
    execute: () => {
      throw Object.assign(new Error('gateway'), { status: 502 });
    },
  }),
  defineTool({
    name: 'mismatched',
    description: 'd',
    input: anything,
    output: { type: 'number' },
    effect: 'read',
    execute: () => secret,
  }),
  defineTool({
    name: 'takes',
    description: 'd',
    input: anything,
    effect: 'read',
    execute: (input) => {
      received.push(input);
      return 'taken';
    },
  }),
  defineTool({
    name: 'strict',
    description: 'd',
    input: { ...anything, additionalProperties: false, required: ['x'] },
    effect: 'read',
    execute: () => 'x',
  }),
];

let scene: Scene;
let stop: () => void;
beforeAll(async () => {
  const server = createServer((request, response) => {
    response.writeHead(403, { 'content-type': 'application/json', 'x-echo': String(request.headers['authorization']) });
    response.end(JSON.stringify({ error: { message: `key ${fromEnv} may not do this`, url: request.url } }));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  stop = () => server.close();
  const { port } = server.address() as AddressInfo;
  const http = httpTool({
    name: 'calls',
    description: 'd',
    input: anything,
    method: 'GET',
    url: `http://127.0.0.1:${String(port)}/x?api_key=${encodeURIComponent(fromEnv)}`,
    headers: { authorization: `Bearer ${fromEnv}` },
  });
  const tools = [...throwing, ...leaking, http];
  scene = await playScene({
    config: { tools, secrets: [secret], secretEnv: ['MY_TOKEN'], limits: { steps: 10 } },
    env: { MY_TOKEN: fromEnv },
    model: [
      {
        text: `I shall use ${secret}.`,
        calls: tools.filter((tool) => tool.definition.name !== 'takes').map((tool) => ({ tool: tool.definition.name })),
      },
      {
        calls: [
          { tool: 'takes', input: { note: `log in with ${secret}` } },
          { tool: 'takes', input: { note: 'a', password: 'swordfish1' } },
          { tool: 'strict', input: { note: secret } },
          { tool: `no_such_${fromEnv}` },
          { tool: 'takes', rawArguments: `{"note": "cut off ${fromEnv}` },
        ],
      },
      { text: `Done with ${fromEnv}.` },
    ],
  });
});
afterAll(() => stop());

describe('a declared secret', () => {
  it('is in nothing that the model is told, however it came there', () => {
    expect(Object.keys(scene.told).length).toBe(21);
    for (const [callId, told] of Object.entries(scene.told))
      expect({ callId, leaks: leaks(told) }).toEqual({ callId, leaks: [] });
  });
  it('is in no message of the transcript, the model’s own words included', () => {
    expect(scene.result?.status).toBe('completed');
    expect(leaks(scene.transcript)).toEqual([]);
  });
  it('is in no line of the operator’s log', () => {
    expect(scene.log.length).toBeGreaterThan(20);
    for (const line of scene.log) expect({ line, leaks: leaks(line) }).toMatchObject({ leaks: [] });
  });
  it('is in no stored attempt and no stored outcome', () => {
    expect(leaks(scene.calls)).toEqual([]);
  });
  it('is nowhere in the Temporal history: inputs, results, failures, stacks, summaries', () => {
    expect(scene.historyText).toContain('throws_headers');
    expect(scene.historyText).toContain('stackTrace');
    expect(leaks(scene.historyText)).toEqual([]);
  });
  it('reaches the tool that the model gave it to, intact', () => {
    expect(received).toEqual(
      expect.arrayContaining([{ note: `log in with ${secret}` }, { note: 'a', password: 'swordfish1' }]),
    );
    // What only looks like a secret does not stand in the history either.
    expect(scene.historyText).not.toContain('swordfish1');
    expect(scene.historyText).toContain('[redacted]');
  });
});

it('shows stack frames of perdure and its SDK only', () => {
  const stacks = [...scene.historyText.matchAll(/"stackTrace":"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1] ?? '');
  const frames = stacks.flatMap((stack) => stack.split('\\n').filter((line) => line.trimStart().startsWith('at ')));
  expect(frames.length).toBeGreaterThan(20);
  expect(frames.filter((frame) => frame.includes('secrets.test.ts'))).toEqual([]);
});
