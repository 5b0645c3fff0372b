import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Model } from '../../../src/models/model.js';
import { FailureStats } from '../../../src/stats/failure-stats.js';
import { defineTool } from '../../../src/tools/define-tool.js';
import { httpTool } from '../../../src/tools/http-tool.js';
import { playScene, type Scene } from '../../support/agent-scene.js';

/** Counts what reaches it: the truth that perdure's figures are held against. */
let backend: Server;
let origin: string;
let arrived: Record<string, number>;

beforeEach(async () => {
  arrived = {};
  backend = createServer((request, response) => {
    const path = request.url ?? '';
    arrived[path] = (arrived[path] ?? 0) + 1;
    const isDown = path === '/charges' || (path === '/chat' && (arrived[path] ?? 0) < 3);
    response.writeHead(isDown ? 503 : 200, { 'content-type': 'application/json' }).end('{"ok":true}');
  });
  await once(backend.listen(0, '127.0.0.1'), 'listening');
  origin = `http://127.0.0.1:${String((backend.address() as AddressInfo).port)}`;
});
afterEach(() => {
  backend.closeAllConnections();
  backend.close();
});

/** A client library with retries of its own, three attempts by default as most have. */
async function stubbornFetch(path: string, headers: Record<string, string> = {}): Promise<unknown> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(`${origin}${path}`, {
      method: 'POST',
      body: '{}',
      headers: { 'user-agent': 'OpenAI/JS 6.1.0', ...headers },
    });
    if (response.ok) return await response.json();
    await response.body?.cancel();
    if (attempt === 3) throw Object.assign(new Error('service unavailable'), { status: response.status });
  }
}

const quickly = { external_service_unavailable: { maxAttempts: 3, baseDelayMs: 1, maxDelayMs: 1 } } as const;
const input = { type: 'object', properties: {}, additionalProperties: false } as const;
const charge = defineTool({
  ...{ name: 'charge', description: 'Charge.', effect: { idempotent: 'key' }, input, retry: quickly, breaker: false },
  execute: (_input, ctx) => stubbornFetch('/charges', { 'idempotency-key': ctx.idempotencyKey }),
});

const attemptsOf = (scene: Scene, tool: string) => scene.calls.find(({ row }) => row.tool === tool)?.attempts ?? [];

it('finds and names a client that retries by itself: 3 attempts became 9 at the backend', async () => {
  const charges = httpTool({
    ...{ name: 'charges', description: 'The same without a client.', method: 'GET', url: `${origin}/charges` },
    ...{ effect: 'read', input, retry: quickly, breaker: false },
  });
  const scene = await playScene({
    config: { tools: [charge, charges] },
    model: [{ calls: [{ tool: 'charge', input: {} }] }, { calls: [{ tool: 'charges', input: {} }] }, { text: 'Down.' }],
  });
  expect(arrived).toEqual({ '/charges': 12 });
  expect(attemptsOf(scene, 'charge').map(({ requests }) => requests)).toEqual(
    Array.from({ length: 3 }, () => ({
      sent: 3,
      retried: [
        {
          ...{ method: 'POST', host: new URL(origin).host, path: '/charges' },
          ...{ attempts: 3, retries: 2, after: [503, 503], client: 'openai' },
        },
      ],
    })),
  );
  expect(attemptsOf(scene, 'charges').map(({ requests }) => requests)).toEqual([{ sent: 1 }, { sent: 1 }, { sent: 1 }]);

  const stats = new FailureStats();
  for (const { row, attempts } of scene.calls) stats.add(row, attempts);
  const { tools, hiddenRetries } = stats.figures();
  expect(tools.map(({ tool, attempts, attemptsSeen }) => ({ tool, attempts, attemptsSeen }))).toEqual([
    { tool: 'charge', attempts: 3, attemptsSeen: 9 },
    { tool: 'charges', attempts: 3, attemptsSeen: 3 },
  ]);
  expect(hiddenRetries).toEqual([
    {
      ...{ kind: 'tool', name: 'charge', host: new URL(origin).host, client: 'openai', starts: 3, mostInOneStart: 3 },
      worst: { runKey: scene.calls[0]?.row.runKey, callId: 'c1.0', starts: 3, seen: 9 },
      remedy: 'new OpenAI({ maxRetries: 0 })',
    },
  ]);
  const told = scene.log.filter(({ msg }) => String(msg).includes('sent the same request 3 times'));
  expect(told).toMatchObject([{ host: new URL(origin).host, request: 'POST /charges', client: 'openai' }]);
});

it('finds the client of a model that retries by itself', async () => {
  const model: Model = {
    name: 'own:chatty',
    takesImages: false,
    async complete() {
      await stubbornFetch('/chat');
      return { text: 'Done.', calls: [], finishReason: 'stop' };
    },
  };
  const scene = await playScene({ config: { tools: [] }, model });
  expect(arrived).toEqual({ '/chat': 3 });
  expect(scene.turnAttempts).toMatchObject([{ start: 1, requests: { sent: 3, retried: [{ attempts: 3 }] } }]);
  const stats = new FailureStats();
  stats.addTurnAttempts(scene.turnAttempts);
  expect(stats.figures().hiddenRetries).toMatchObject([
    { kind: 'model', name: 'own:chatty', mostInOneStart: 3, worst: { step: 1, starts: 1, seen: 3 } },
  ]);
});

it('takes what a tool reports of a backend that nobody sees', async () => {
  const native = defineTool({
    ...{ name: 'native', description: 'By a native client.', effect: 'read', input },
    execute: (_input, ctx) => {
      ctx.seenByBackend(4);
      return { ok: true };
    },
  });
  const scene = await playScene({
    config: { tools: [native] },
    model: [{ calls: [{ tool: 'native', input: {} }] }, { text: 'Done.' }],
  });
  expect(attemptsOf(scene, 'native')).toMatchObject([{ requests: { sent: 0, reported: 4 } }]);
});
