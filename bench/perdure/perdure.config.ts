import { defineConfig, defineTool } from 'perdure';
import { endlessScript } from 'perdure/testing';
import { z } from 'zod';
import { argumentsOf, resultOf } from '../workload.ts';

const { BENCH_STORE = '', BENCH_HEARTBEAT_MS = '' } = process.env;

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
  ],
  instructions: 'You look things up.',
  limits: { steps: null },
  store: { path: BENCH_STORE },
  worker: { heartbeatTimeoutMs: Number(BENCH_HEARTBEAT_MS) },
});
