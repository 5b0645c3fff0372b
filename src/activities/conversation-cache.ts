import type { TranscriptMessage } from '../contract/transcript.js';
import type { Store } from '../store/store.js';

interface Entry {
  /** Shared by all entries of one conversation; each sees its own length of it. */
  messages: TranscriptMessage[];
  length: number;
  /** When its head was read or written, on this process's monotonic clock. */
  atMs: number;
}

/**
 * How long the store is taken to hold what it was last seen to hold. Garbage collection leaves a run alone for much longer
 * than this after its end.
 */
const trustedForMs = 60_000;

/** Conversations kept in one worker; the oldest go first. A miss costs one read of the chain. */
const maxEntries = 200;

/**
 * The conversation up to a head, without reading the whole chain at each step: a step appends to the list that the
 * step before has left, so that a run of 10,000 steps costs the same at each of them.
 */
export class ConversationCache {
  readonly #store: Store;
  readonly #entries = new Map<string, Entry>();
  readonly #monotonicMs: () => number;

  constructor(store: Store, monotonicMs: () => number = () => performance.now()) {
    this.#store = store;
    this.#monotonicMs = monotonicMs;
  }

  /** From the root to `head`. Rejects with a `StoreError` that names a missing node. */
  async upTo(head: string): Promise<TranscriptMessage[]> {
    const known = this.#entries.get(head);
    if (known) return known.messages.slice(0, known.length);
    const messages = (await this.#store.getChain(head)).map((node) => node.message);
    this.#keep(head, messages);
    return messages.slice();
  }

  /** Whether this process has seen the store hold `head` within the last minute, so that it need not ask. */
  wasSeen(head: string): boolean {
    const known = this.#entries.get(head);
    return known !== undefined && this.#monotonicMs() - known.atMs < trustedForMs;
  }

  /** Remembers what follows `head`. */
  extend(head: string, added: TranscriptMessage[], newHead: string): void {
    const known = this.#entries.get(head);
    if (!known) return;
    // Where two turns followed the same head, the second must not write over the first one's tail.
    const messages = known.messages.length === known.length ? known.messages : known.messages.slice(0, known.length);
    messages.push(...added);
    this.#entries.delete(head);
    this.#keep(newHead, messages);
  }

  #keep(head: string, messages: TranscriptMessage[]): void {
    this.#entries.delete(head);
    this.#entries.set(head, { messages, length: messages.length, atMs: this.#monotonicMs() });
    if (this.#entries.size <= maxEntries) return;
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#entries.delete(oldest.value);
  }
}
