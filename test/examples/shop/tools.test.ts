import { expect, it, onTestFinished, vi } from 'vitest';
import type { Tool, ToolContext } from '../../../src/tools/tool.js';
import { openShop } from './backend/shop-client.js';
import type { Exchange, ScriptedCall, ToolResult } from '../../../examples/shop/agent/conversation.js';
import { nextTurn } from '../../../examples/shop/agent/script.js';
import { checkEffects } from '../../../examples/shop/demo/expected-effects.js';

/** The example's tools, for a shop that is started here. */
async function openTools(faults: Parameters<typeof openShop>[0] = {}) {
  const shop = await openShop(faults);
  vi.stubEnv('SHOP_URL', shop.url);
  vi.resetModules();
  onTestFinished(() => void vi.unstubAllEnvs());
  const config = (await import('../../../examples/shop/perdure.config.js')).default as { tools: Tool[] };
  const tools = new Map(config.tools.map((tool) => [tool.definition.name, tool]));
  return { shop, tool: (name: string) => tools.get(name) ?? fail(`no tool ${name}`) };
}

function fail(message: string): never {
  throw new Error(message);
}

const context = (idempotencyKey = 'k1:test'): ToolContext => ({
  idempotencyKey,
  attempt: 1,
  callId: 'c1.1',
  runId: 'run',
  signal: new AbortController().signal,
  deadline: Date.now() + 5000,
  progress: () => undefined,
  seenByBackend: () => undefined,
  log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
  bestEffort: async (_name, run) => run(),
});

/** One start of a tool's body, as plainly as it goes: no retries, no ledger. */
async function runOnce(tool: Tool, call: ScriptedCall, key: string): Promise<ToolResult> {
  const failed = { status: 'failed', retryable: false, effect_state: 'none' };
  const parsed = await tool.parse(call.args as never);
  if (!parsed.ok) return { ...failed, error_type: 'validation_error' };
  try {
    return { status: 'succeeded', data: await tool.execute(parsed.value, context(key)) };
  } catch (error) {
    const { class: failureClass, status } = error as { class?: string; status?: number };
    return { ...failed, error_type: failureClass ?? (status === 422 ? 'validation_error' : `http_${status}`) };
  }
}

it('lets the scripted model do its whole task, each effect once', async () => {
  const { shop, tool } = await openTools();
  const exchanges: Exchange[] = [];
  const failures: string[] = [];
  for (let turn = 0; ; turn += 1) {
    const { text, calls } = nextTurn(exchanges);
    if (calls.length === 0) {
      expect(text).toContain('its tracking code is RL000001EU');
      break;
    }
    for (const [index, call] of calls.entries()) {
      const result = await runOnce(tool(call.tool), call, `k1:${turn}.${index}`);
      if (result.error_type !== undefined) failures.push(`${call.tool}: ${result.error_type}`);
      exchanges.push({ ...call, result });
    }
  }
  expect(failures).toEqual([
    'cancel_order: business_rule_violation',
    'request_return: validation_error',
    'refund_payment: validation_error',
  ]);
  expect(checkEffects(shop.effects()).map(({ kind, times, right }) => [kind, times, right])).toEqual([
    ['order_cancelled', 1, true],
    ['return_opened', 1, true],
    ['payment_refunded', 1, true],
    ['payment_refunded', 1, true],
    ['label_printed', 1, true],
    ['message_sent', 1, true],
  ]);
});

it('shows the model an order in its own words', async () => {
  const { tool } = await openTools();
  expect(await tool('get_order').execute({ orderId: '1042' }, context())).toMatchObject({
    id: '1042',
    status: 'processing',
    lines: [
      { item: 'Wool blanket', quantity: 1, priceCents: 5900 },
      { item: 'Beeswax candle', quantity: 2, priceCents: 1500 },
    ],
    totalCents: 8900,
    paymentId: 'pay_1042',
    refundedCents: 0,
    returnId: null,
  });
});

it('passes on why the shop refused, and which tool may do instead', async () => {
  const { tool } = await openTools();
  await expect(tool('cancel_order').execute({ orderId: '1038' }, context())).rejects.toMatchObject({
    class: 'business_rule_violation',
    effect: 'none',
    publicMessage: expect.stringMatching(/^Order 1038 was handed to the carrier/),
    alternatives: ['request_return'],
  });
});

it('finds a label whose answer was lost, and does not take none for a proof', async () => {
  const { tool } = await openTools({ lostLabelAnswers: 1 });
  await tool('request_return').execute({ orderId: '1038', reason: 'damaged' }, context());
  const label = tool('print_return_label');
  expect(await label.reconcile?.({ returnId: 'ret_1038' }, context())).toEqual({ none: true });
  await expect(label.execute({ returnId: 'ret_1038' }, context())).rejects.toMatchObject({ sent: true });
  expect(await label.reconcile?.({ returnId: 'ret_1038' }, context())).toEqual({
    done: true,
    result: { returnId: 'ret_1038', trackingCode: 'RL000001EU' },
  });
});
