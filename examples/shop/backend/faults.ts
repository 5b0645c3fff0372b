import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './answer.ts';

/** What one request of the shop is for. */
export type Operation =
  | 'find_customers'
  | 'search_orders'
  | 'get_order'
  | 'cancel_order'
  | 'open_return'
  | 'refund_payment'
  | 'print_label'
  | 'list_labels'
  | 'send_message';

/** How the shop misbehaves. Counted, not random: each start of the service fails in the same places, then heals. */
export interface Faults {
  /** The first customer look-ups are answered 429 with `Retry-After: 1`. */
  rateLimitedLookups: number;
  /** The first order searches are answered 503, by a proxy's HTML page. */
  unavailableSearches: number;
  /** Order details take this long, milliseconds. */
  orderDetailsDelayMs: number;
  /** The first labels are printed, and the connection breaks before the answer. */
  lostLabelAnswers: number;
  /** The first look-ups of labels are answered 503. */
  unavailableLabelLookups: number;
}

export const noFaults: Faults = {
  rateLimitedLookups: 0,
  unavailableSearches: 0,
  orderDetailsDelayMs: 0,
  lostLabelAnswers: 0,
  unavailableLabelLookups: 0,
};

export const demoFaults: Faults = {
  rateLimitedLookups: 1,
  unavailableSearches: 2,
  orderDetailsDelayMs: 1500,
  lostLabelAnswers: 1,
  unavailableLabelLookups: 0,
};

/** What a proxy in front of a service says that is down. */
const unavailable: Answer = {
  status: 503,
  body: '<html><head><title>503 Service Temporarily Unavailable</title></head></html>',
};

export interface FaultPlan {
  /** To be asked before an operation; an answer is given in its place. */
  before(operation: Operation, clientGone: AbortSignal): Promise<Answer | undefined>;
  /** To be asked after it; true means that the client must not hear of it. */
  losesAnswer(operation: Operation): boolean;
}

export function planFaults(faults: Faults): FaultPlan {
  const left = { ...faults };
  return {
    async before(operation, clientGone) {
      if (operation === 'find_customers' && left.rateLimitedLookups-- > 0) {
        const error = { code: 'too_many_requests', message: 'Too many look-ups.' };
        return { status: 429, body: { error }, headers: { 'retry-after': '1' } };
      }
      if (operation === 'search_orders' && left.unavailableSearches-- > 0) return unavailable;
      if (operation === 'list_labels' && left.unavailableLabelLookups-- > 0) return unavailable;
      if (operation === 'get_order') await sleep(faults.orderDetailsDelayMs, undefined, { signal: clientGone });
      return undefined;
    },
    losesAnswer: (operation) => operation === 'print_label' && left.lostLabelAnswers-- > 0,
  };
}
