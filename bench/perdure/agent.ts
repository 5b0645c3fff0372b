import { defineTool } from 'perdure';
import { endlessScript } from 'perdure/testing';
import { z } from 'zod';
import { argumentsOf, resultOf } from '../workload.ts';

const input = z.object({ query: z.string() });

/** The task of a run: which tool its model calls, and how often. */
export function taskOf(tool: 'look_up' | 'charge', steps: number): string {
  return `${tool} ${steps}`;
}

/** Calls the task's tool once a turn, as often as the task says. */
export const benchModel = endlessScript((turn, { task }) => {
  const [tool = '', steps = ''] = task.split(' ');
  if (turn >= Number(steps)) return { text: 'done', usage };
  return { calls: [{ tool, input: argumentsOf(turn) }], usage };
});

const usage = { inputTokens: 1_000, outputTokens: 100 };

const execute = async ({ query }: { query: string }) => resultOf(query);

export const benchTools = [
  defineTool({ name: 'look_up', description: 'Looks something up.', effect: 'read', input, execute }),
  defineTool({ name: 'charge', description: 'Charges.', effect: { idempotent: 'key' }, input, execute }),
];
