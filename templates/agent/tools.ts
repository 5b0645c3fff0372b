import { defineTool, type Tool, ToolError } from 'perdure';
import { z } from 'zod';
import type { Shop } from './shop.ts';

const orderId = z.string().describe('number of the order, for example 1042');

/** The agent's tools. Each says what running it twice would do: that decides what may be done after a lost answer. */
export function shopTools(shop: Shop): Tool[] {
  return [
    defineTool({
      name: 'find_order',
      description: 'Find an order by its number.',
      input: z.object({ orderId }),
      effect: 'read', // changes nothing: may run again at any time
      execute: ({ orderId }) => {
        const order = shop.order(orderId);
        if (order) return order;
        throw new ToolError({ class: 'not_found', effect: 'none', publicMessage: `there is no order ${orderId}` });
      },
    }),
    defineTool({
      name: 'refund_order',
      description: 'Refund an order, whole or in part.',
      input: z.object({ orderId, amountCents: z.number().int().positive().describe('how much, in cents') }),
      effect: { idempotent: 'key' }, // the shop remembers the key: a second request with it pays nothing
      execute: ({ orderId, amountCents }, ctx) => {
        const order = shop.order(orderId);
        if (!order || amountCents > order.totalCents) {
          const publicMessage = `at most ${order?.totalCents ?? 0} cents can be refunded`;
          throw new ToolError({ class: 'business_rule_violation', effect: 'none', publicMessage });
        }
        return shop.refund({ key: ctx.idempotencyKey, orderId, amountCents });
      },
    }),
    defineTool({
      name: 'print_label',
      description: 'Print a return label for an order.',
      input: z.object({ orderId }),
      effect: 'once', // a second run is a second label: never repeated blindly
      execute: ({ orderId }, ctx) => shop.printLabel({ orderId, request: ctx.idempotencyKey }),
      // Where the answer was lost: the shop's own list says whether the label was printed.
      reconcile: (_input, ctx) => {
        const result = shop.label(ctx.idempotencyKey);
        return result ? { done: true, result } : { none: true };
      },
    }),
  ];
}
