import * as vitest from 'vitest';
import { defineTool } from '../../../src/tools/define-tool.js';
import { toolTests } from '../../../src/testing/index.js';
import { temporalServer } from '../../support/temporal-server.js';

const input = {
  type: 'object',
  properties: { id: { type: 'string' } },
  required: ['id'],
  additionalProperties: false,
};
const inputs = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];

const charged = new Set<string>();
toolTests(vitest, {
  server: temporalServer(),
  tool: defineTool({
    name: 'charge',
    description: 'Charge a card.',
    input,
    effect: { idempotent: 'key' },
    execute: (_args, ctx) => {
      charged.add(ctx.idempotencyKey);
      return { charged: true };
    },
  }),
  inputs,
  badInput: { id: 5, colour: 'red' },
  effects: () => charged.size,
});

const labels: unknown[] = [];
toolTests(vitest, {
  server: temporalServer(),
  tool: defineTool({
    name: 'print_label',
    description: 'Print a label.',
    input,
    execute: (args) => {
      labels.push(args);
      return { printed: true };
    },
  }),
  inputs,
  effects: () => labels.length,
});

const found: { id: unknown }[] = [];
toolTests(vitest, {
  server: temporalServer(),
  tool: defineTool({
    name: 'print_known_label',
    description: 'Print a label that can be looked up.',
    input,
    execute: ({ id }) => {
      found.push({ id });
      return { printed: id };
    },
    reconcile: ({ id }) =>
      found.some((label) => label.id === id) ? { done: true, result: { printed: id } } : { none: true },
  }),
  inputs: [{ id: 'd' }, { id: 'e' }],
  effects: () => found.length,
  reset: () => void found.splice(0),
});

toolTests(vitest, {
  server: temporalServer(),
  tool: defineTool({ name: 'look_up', description: 'Look up.', input, effect: 'read', execute: ({ id }) => ({ id }) }),
  inputs,
  alternative: {
    tool: defineTool({ name: 'archive', description: 'Look up old things.', input, effect: 'read', execute: () => 1 }),
    input: { id: 'a' },
  },
});
