import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTool, type Tool, ToolError } from 'perdure';
import { z } from 'zod';
import type { Journal } from './journal.ts';

const stock = ['black tea', 'green tea', 'white tea', 'tea pot'];

export function shopTools(journal: Journal): Tool[] {
  return [
    defineTool({
      name: 'refund_order',
      description: 'Refund an order.',
      input: z.object({ orderId: z.string() }),
      effect: { idempotent: 'key' },
      execute({ orderId }, ctx) {
        // Read anew for each call, so that a new one counts at once.
        if (readFileSync('token.txt', 'utf8').trim() !== 'valid') {
          throw new ToolError({ class: 'auth_failed', effect: 'none', publicMessage: 'the token has expired' });
        }
        if (!journal.has(ctx.idempotencyKey)) journal.add(`refund ${orderId} ${ctx.idempotencyKey}`);
        return { refunded: orderId };
      },
    }),
    defineTool({
      name: 'search_stock',
      description: 'Search what is in stock, two products a page.',
      input: z.object({ words: z.string(), page: z.number().int().min(1) }),
      effect: 'read',
      // The mistake: every page is the first one.
      execute: ({ words }) => stock.filter((product) => product.includes(words)).slice(0, 2),
    }),
    defineTool({
      name: 'print_label',
      description: 'Print a return label for an order.',
      input: z.object({ orderId: z.string() }),
      effect: 'once', // and no reconcile: nothing but a look at the printer tells
      execute({ orderId }) {
        journal.add(`label ${orderId}`);
        return { labelId: `L-${orderId}` };
      },
    }),
    defineTool({
      name: 'track_parcel',
      description: 'Wait until a parcel has arrived.',
      input: z.object({ parcelId: z.string() }),
      effect: 'read',
      async execute({ parcelId }, ctx) {
        await sleep(3_000, undefined, { signal: ctx.signal });
        return { parcelId, arrived: true };
      },
    }),
  ];
}
