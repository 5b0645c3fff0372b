import * as vitest from 'vitest';
import { expect, it } from 'vitest';
import { defineTool } from 'perdure';
import { openTestBed, scriptedModel, toolTests } from 'perdure/testing';

// The backend: it honours idempotency keys.
const refunds = new Map<string, { paymentId: unknown }>();

const refundPayment = defineTool({
  name: 'refund_payment',
  description: 'Refund a captured payment.',
  input: { type: 'object', properties: { paymentId: { type: 'string' } }, required: ['paymentId'] },
  effect: { idempotent: 'key' },
  execute: ({ paymentId }, ctx) => {
    refunds.set(ctx.idempotencyKey, { paymentId });
    return { refunded: true };
  },
});

// Eight tests: all succeed, some fail, all fail (four ways), run twice, and the tool is down.
toolTests(vitest, {
  tool: refundPayment,
  inputs: [{ paymentId: 'p1' }, { paymentId: 'p2' }],
  effects: () => refunds.size,
});

// A test of one's own: the agent that is told of a refusal says so.
it('tells the user that the refund was refused', async () => {
  await using bed = await openTestBed({
    tools: [refundPayment],
    faults: ['refund_payment:permission_denied'],
    model: scriptedModel({
      turns: [
        { calls: [{ tool: 'refund_payment', input: { paymentId: 'p3' } }] },
        { text: 'I may not refund this payment.' },
      ],
    }),
  });
  const { result, calls } = await bed.run('Refund p3.');
  expect(calls[0]?.sees).toMatchObject({ status: 'aborted', error_type: 'permission_denied' });
  expect(result).toMatchObject({ status: 'completed', answer: 'I may not refund this payment.' });
});
