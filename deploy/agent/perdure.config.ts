/** The sample's agent: a scripted model, a look and an effect. Put your own configuration in its place. */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineConfig, defineTool } from 'perdure';

const input = {
  type: 'object',
  properties: { orderId: { type: 'string', description: 'Number of the order, e.g. 1042' } },
  required: ['orderId'],
  additionalProperties: false,
};

export default defineConfig({
  model: 'scripted:script.json', // or 'openai:gpt-4.1-mini', with OPENAI_API_KEY in the environment
  tools: [
    defineTool({
      name: 'look_up_order',
      description: 'What was ordered, and what was paid for it.',
      input,
      effect: 'read',
      execute: (order) => ({ ...order, product: 'tea', paidCents: 8900 }),
    }),
    defineTool({
      name: 'refund_order',
      description: 'Refund what was paid for an order.',
      input,
      effect: { idempotent: 'key' },
      // A backend that takes its time, so that there is time to stop this worker and see another one take over.
      execute: async (order, ctx) => {
        ctx.log.info('refunding', { key: ctx.idempotencyKey, attempt: ctx.attempt });
        await sleep(3_000, undefined, { signal: ctx.signal });
        return { ...order, refund: ctx.idempotencyKey.slice(-8) };
      },
    }),
  ],
});
