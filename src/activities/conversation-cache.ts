import type { TranscriptMessage } from '../contract/transcript.js';
import type { Store } from '../store/store.js';

interface Entry {
  /** Shared by all entries of one conversation; each sees its own length of it. */
  messages: TranscriptMessage[];
  length: number;
}

/** Conversations kept in one worker; the oldest go first. A miss costs one read of the chain. */
const maxEntries = 200;

/**
 * The conversation up to a head, without reading the whole chain at each step: a step appends to the list that the
 * step before has left, so that a run of 10,000 steps costs the same at each of them.
 */
export class ConversationCache {
  readonly #store: Store;
  readonly #entries = new Map<string, Entry>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** From the root to `head`. Rejects with a `StoreError` that names a missing node. */
  async upTo(head: string): Promise<TranscriptMessage[]> {
    const known = this.#entries.get(head);
    if (known) return known.messages.slice(0, known.length);
    const messages = (await this.#store.getChain(head)).map((node) => node.message);
    this.#keep(head, { messages, length: messages.length });
    return messages.slice();
  }

  /** Remembers what follows `head`. */
  extend(head: string, added: TranscriptMessage[], newHead: string): void {
    const known = this.#entries.get(head);
    if (!known) return;
    // Where two turns followed the same head, the second must not write over the first one's tail.
    const messages = known.messages.length === known.length ? known.messages : known.messages.slice(0, known.length);
    messages.push(...added);
    this.#entries.delete(head);
    this.#keep(newHead, { messages, length: messages.length });
  }

  #keep(head: string, entry: Entry): void {
    this.#entries.delete(head);
    this.#entries.set(head, entry);
    if (this.#entries.size <= maxEntries) return;
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#entries.delete(oldest.value);
  }
}
