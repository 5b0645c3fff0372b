import { defineConfig, httpTool, type DeclaredFailure } from 'perdure';
import { z } from 'zod';

const shop = process.env['SHOP_URL'] ?? 'http://127.0.0.1:4100';
const storePath = process.env['SHOP_STORE'];

const orderId = z.string().describe('Number of the order, for example 1042');
const returnId = z.string().describe('Id of the return, as request_return gave it');

interface ShopOrder {
  id: string;
  placed_on: string;
  status: string;
  lines: { item: string; quantity: number; price_cents: number }[];
  payments: { id: string; captured_cents: number; refunded_cents: number }[];
  return: { id: string } | null;
}

interface ShopLabel {
  return_id: string;
  tracking_code: string;
}

/** The shop answers 200 and `ok: false` where its rules forbid something, with a reason for people. */
function refusal(body: unknown): DeclaredFailure | undefined {
  const { ok, code, message } = body as { ok?: boolean; code?: string; message?: string };
  if (ok !== false) return undefined;
  return {
    class: 'business_rule_violation',
    message: message ?? 'The shop refused.',
    ...(code === 'already_shipped' && { alternatives: ['request_return'] }),
    ...(code === 'not_shipped' && { alternatives: ['cancel_order'] }),
  };
}

function shownOrder({ id, placed_on, status, lines, payments, return: returned }: ShopOrder) {
  return {
    id,
    placedOn: placed_on,
    status,
    lines: lines.map(({ item, quantity, price_cents }) => ({ item, quantity, priceCents: price_cents })),
    totalCents: lines.reduce((sum, { quantity, price_cents }) => sum + quantity * price_cents, 0),
    paymentId: payments[0]?.id ?? null,
    refundedCents: payments.reduce((sum, { refunded_cents }) => sum + refunded_cents, 0),
    returnId: returned?.id ?? null,
  };
}

function shownLabel({ return_id, tracking_code }: ShopLabel) {
  return { returnId: return_id, trackingCode: tracking_code };
}

const findCustomer = httpTool({
  name: 'find_customer',
  description: 'Find customers by e-mail address, or by a part of their name.',
  input: z.object({
    email: z.string().optional().describe('Whole e-mail address'),
    name: z.string().optional().describe('Any part of the name'),
  }),
  url: `${shop}/customers`,
  response: { pick: '/customers' },
});

const listOrders = httpTool({
  name: 'list_orders',
  description: "List a customer's orders of the last days, the newest first.",
  input: z.object({
    customerId: z.string().describe('Id of the customer, as find_customer gave it'),
    days: z.number().int().positive().describe('How many days to look back'),
  }),
  url: `${shop}/orders`,
  query: ({ customerId, days }) => ({ customer_id: customerId, days }),
  response: { pick: '/orders' },
});

const getOrder = httpTool({
  name: 'get_order',
  description: 'Read one order: its status, lines, total, payment, refunds and return.',
  input: z.object({ orderId }),
  url: `${shop}/orders/{orderId}`,
  response: { pick: '/order', transform: (order) => shownOrder(order as ShopOrder) },
  timeoutMs: '5s',
});

const cancelOrder = httpTool({
  name: 'cancel_order',
  description: 'Cancel an order that has not been given to the carrier.',
  input: z.object({ orderId }),
  method: 'POST',
  url: `${shop}/orders/{orderId}/cancel`,
  // A cancelled order stays cancelled, however often it is asked for.
  effect: { idempotent: 'nature' },
  response: { pick: '/order' },
  isFailure: refusal,
  timeoutMs: '5s',
});

const requestReturn = httpTool({
  name: 'request_return',
  description: 'Open a return of an order that was given to the carrier.',
  input: z.object({ orderId, reason: z.string().describe('Why the customer sends it back') }),
  method: 'POST',
  url: `${shop}/orders/{orderId}/returns`,
  // An order has one return; asking again gives the same one.
  effect: { idempotent: 'nature' },
  response: { pick: '/return' },
  isFailure: refusal,
  timeoutMs: '5s',
});

const refundPayment = httpTool({
  name: 'refund_payment',
  description: 'Refund a payment, whole or in part. The order must be cancelled or have a return.',
  input: z.object({
    paymentId: z.string().describe('Id of the payment, as get_order gave it'),
    amountCents: z.number().int().positive().describe('Amount in cents: 8900 for 89.00 EUR'),
    reason: z.string().describe('Why, in a few words'),
  }),
  method: 'POST',
  url: `${shop}/payments/{paymentId}/refunds`,
  body: ({ amountCents, reason }) => ({ amount_cents: amountCents, reason }),
  // The shop honours the Idempotency-Key, which perdure sends with every request that is not a read.
  effect: { idempotent: 'key' },
  response: { pick: '/refund' },
  isFailure: refusal,
  examples: [{ paymentId: 'pay_1042', amountCents: 8900, reason: 'order was cancelled' }],
  timeoutMs: '5s',
});

const printReturnLabel = httpTool({
  name: 'print_return_label',
  description: 'Print the label that the customer needs for a return. Every call prints one.',
  input: z.object({ returnId }),
  method: 'POST',
  url: `${shop}/returns/{returnId}/labels`,
  // The printer knows no keys: after a lost answer it is never asked again, it is looked up what came out of it.
  effect: 'once',
  async reconcile({ returnId }, { signal }) {
    const response = await fetch(`${shop}/returns/${encodeURIComponent(returnId)}/labels`, { signal });
    if (!response.ok) return undefined;
    const { labels } = (await response.json()) as { labels: ShopLabel[] };
    // No label yet is no proof: the request may still be on its way.
    return labels[0] ? { done: true, result: shownLabel(labels[0]) } : { none: true };
  },
  response: { pick: '/label', transform: (label) => shownLabel(label as ShopLabel) },
  alternatives: ['find_return_labels'],
  timeoutMs: '5s',
});

const findReturnLabels = httpTool({
  name: 'find_return_labels',
  description: 'List the labels that were printed for a return.',
  input: z.object({ returnId }),
  url: `${shop}/returns/{returnId}/labels`,
  response: { pick: '/labels', transform: (labels) => (labels as ShopLabel[]).map(shownLabel) },
});

const sendMessage = httpTool({
  name: 'send_message',
  description: 'Send a customer a message.',
  input: z.object({
    customerId: z.string().describe('Id of the customer, as find_customer gave it'),
    subject: z.string(),
    body: z.string().describe('The message, as plain text'),
  }),
  method: 'POST',
  url: `${shop}/customers/{customerId}/messages`,
  effect: { idempotent: 'key' },
  response: { pick: '/message' },
  timeoutMs: '5s',
});

export default defineConfig({
  // Plays the demo's conversation without a key; `perdure run --model provider:model` takes a real one.
  model: 'scripted:./script.ts',
  instructions:
    'You look after the customers of a small shop. Do what the task says with the tools, and nothing else. Read orders ' +
    'before you change them; read several at once where you can. Your last answer is what was done, in a few sentences.',
  tools: [
    findCustomer,
    listOrders,
    getOrder,
    cancelOrder,
    requestReturn,
    refundPayment,
    printReturnLabel,
    findReturnLabels,
    sendMessage,
  ],
  limits: { steps: 40 },
  // A killed worker is taken for dead sooner than by default, so that the demo goes on at once.
  worker: { heartbeatTimeoutMs: '2s' },
  ...(storePath !== undefined && { store: { path: storePath } }),
});
