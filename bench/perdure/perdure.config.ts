import { setTimeout as sleep } from 'node:timers/promises';
import { defineConfig, defineTool, ToolError } from 'perdure';
import { endlessScript } from 'perdure/testing';
import { z } from 'zod';
import { argumentsOf, resultOf } from '../workload.ts';

const { BENCH_STORE = '', BENCH_HEARTBEAT_MS = '', BENCH_WAIT_MS = '0', BENCH_BACKEND = '' } = process.env;

/** Reported, as most providers do; else the conversation's characters would be counted at each step. */
const usage = { inputTokens: 1_000, outputTokens: 100 };

const input = z.object({ query: z.string() });

const execute = ({ query }: { query: string }) => resultOf(query);

export default defineConfig({
  /** Calls the task's tool (`taskOf`) once a turn, as often as the task says. */
  model: endlessScript((turn, { task }) => {
    const [tool = '', steps = ''] = task.split(' ');
    if (turn >= Number(steps)) return { text: 'done', usage };
    return { calls: [{ tool, input: argumentsOf(turn) }], usage };
  }),
  tools: [
    defineTool({ name: 'look_up', description: 'Looks something up.', effect: 'read', input, execute }),
    defineTool({ name: 'charge', description: 'Charges.', effect: { idempotent: 'key' }, input, execute }),
    defineTool({
      name: 'pay',
      description: 'Pays, at a backend that counts.',
      effect: { idempotent: 'key' },
      input,
      execute: async ({ query }, { idempotencyKey, signal }) => {
        const headers = { 'idempotency-key': idempotencyKey };
        const response = await fetch(BENCH_BACKEND, { method: 'POST', headers, signal });
        await response.text();
        return resultOf(query);
      },
    }),
    defineTool({
      name: 'slow',
      description: 'Takes a second.',
      effect: 'read',
      input,
      execute: async ({ query }, { signal }) => {
        await sleep(1_000, undefined, { signal });
        return resultOf(query);
      },
    }),
    defineTool({
      name: 'throttled',
      description: 'Is throttled at its first start.',
      effect: 'read',
      input,
      budgetMs: '1h',
      // All runs share the tool's retries, and all of them retry here.
      retryBudget: false,
      execute: ({ query }, { attempt }) => {
        if (attempt > 1) return resultOf(query);
        throw new ToolError({ class: 'rate_limit', effect: 'none', retryAfterMs: Number(BENCH_WAIT_MS) });
      },
    }),
  ],
  instructions: 'You look things up.',
  limits: { steps: null },
  store: BENCH_STORE.startsWith('postgres:') ? { url: BENCH_STORE } : { path: BENCH_STORE },
  worker: { heartbeatTimeoutMs: Number(BENCH_HEARTBEAT_MS) },
});
