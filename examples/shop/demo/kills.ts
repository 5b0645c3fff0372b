import type { Operation } from '../backend/faults.ts';
import type { HoldMoment } from '../backend/holds.ts';

/** A process that the demo kills with SIGKILL, and when. */
export type Kill = { what: 'worker' | 'server' } &
  /** While a request to the shop stands just before its effect, or after it and before its answer. */
  (
    | {
        operation: Operation;
        moment: HoldMoment;
        /** How long it stands there before the kill, for somebody who watches, milliseconds. Default 0. */
        heldMs?: number;
      }
    /** Some time after the run's start, or after the kill before this one. */
    | { afterMs: number }
    /** Any other moment. */
    | Moment
  );

export interface Moment {
  /** In words, as a part of a sentence: `the model was answering`. */
  words: string;
  /** Resolves when it has come. May reject, or stay open, once `over` is aborted: the run has ended before. */
  reached(scene: Scene, over: AbortSignal): Promise<void>;
}

/** What a moment may look at. */
export interface Scene {
  runId: string;
  shopUrl: string;
  /** perdure's store. */
  storePath: string;
}

/** The demo's own: the refund is committed, and its result was not reported. */
export const defaultKills: readonly Kill[] = [
  // What is shown of a run is up to half a second old; a kill at once would be told before the step that it falls in.
  { what: 'worker', operation: 'refund_payment', moment: 'after_commit', heldMs: 1_000 },
];

const requests: Record<Operation, string> = {
  find_customers: 'a look-up of the customer',
  search_orders: 'a search for orders',
  get_order: "a request for an order's details",
  cancel_order: 'a cancellation',
  open_return: 'a return',
  refund_payment: 'a refund',
  print_label: 'a label',
  list_labels: 'a look-up of labels',
  send_message: 'a message',
};

/** The moment in words, as a part of a sentence: `a refund was committed and before its answer was sent`. */
export function momentInWords(kill: Kill): string {
  if ('reached' in kill) return kill.words;
  if ('afterMs' in kill) return `${kill.afterMs} ms had passed`;
  const request = requests[kill.operation];
  return kill.moment === 'after_commit'
    ? `${request} was committed, and before its answer was sent`
    : `${request} had reached the shop, and before anything was committed`;
}
