import type { TranscriptMessage } from '../contract/transcript.js';
import type { Store } from '../store/store.js';

interface Entry {
  /** Shared by all entries of one conversation; each sees its own length of it. */
  messages: TranscriptMessage[];
  /** Of each provider's call id, the message that used it first; shared like the messages. */
  firstUse: Map<string, number>;
  length: number;
  /** Given to a turn, which may have appended to it. */
  lent: boolean;
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

  /**
   * From the root to `head`; the caller's own to append to. Rejects with a `StoreError` that names a missing node.
   *
   * The first to ask gets the list itself, and only a second one a copy: at each step of a run of 10,000, copying 20,000
   * entries leaves so much garbage that the heap grows.
   */
  async upTo(head: string): Promise<TranscriptMessage[]> {
    const known = this.#entries.get(head);
    if (known?.lent) return known.messages.slice(0, known.length);
    if (known) {
      known.lent = true;
      return known.messages;
    }
    const messages = (await this.#store.getChain(head)).map((node) => node.message);
    const firstUse = new Map<string, number>();
    messages.forEach((message, index) => noteIds(firstUse, message, index));
    this.#keep(head, messages, firstUse, true);
    return messages;
  }

  /** Whether this process has seen the store hold `head` within the last minute, so that it need not ask. */
  wasSeen(head: string): boolean {
    const known = this.#entries.get(head);
    return known !== undefined && this.#monotonicMs() - known.atMs < trustedForMs;
  }

  /**
   * Tells whether an earlier turn up to `head` used a provider's call id; `messages` are what `upTo` gave for it. Walking over 20,000
   * messages for it took longer than all else that a turn costs.
   */
  usedProviderIds(head: string, messages: readonly TranscriptMessage[]): (providerCallId: string) => boolean {
    const known = this.#entries.get(head);
    if (known) return (id) => (known.firstUse.get(id) ?? known.length) < known.length;
    // Another turn has taken the entry on in the meantime.
    const firstUse = new Map<string, number>();
    messages.forEach((message, index) => noteIds(firstUse, message, index));
    return (id) => firstUse.has(id);
  }

  /** Remembers `conversation`, the list that `upTo` gave for `head` with all that has been appended to it since, under `newHead`. */
  extend(head: string, conversation: TranscriptMessage[], newHead: string): void {
    const known = this.#entries.get(head);
    const isLent = known?.messages === conversation;
    const firstUse = isLent ? known.firstUse : new Map<string, number>();
    for (let index = isLent ? known.length : 0; index < conversation.length; index += 1)
      noteIds(firstUse, conversation[index] as TranscriptMessage, index);
    this.#entries.delete(head);
    this.#keep(newHead, conversation, firstUse, false);
  }

  #keep(head: string, messages: TranscriptMessage[], firstUse: Map<string, number>, lent: boolean): void {
    this.#entries.delete(head);
    this.#entries.set(head, { messages, firstUse, length: messages.length, lent, atMs: this.#monotonicMs() });
    if (this.#entries.size <= maxEntries) return;
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#entries.delete(oldest.value);
  }
}

function noteIds(firstUse: Map<string, number>, message: TranscriptMessage, index: number): void {
  if (message.role !== 'assistant') return;
  for (const { providerCallId } of message.calls)
    if (!firstUse.has(providerCallId)) firstUse.set(providerCallId, index);
}
