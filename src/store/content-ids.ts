import { createHmac, createSecretKey } from 'node:crypto';
import type { TranscriptMessage, TranscriptNode } from '../contract/transcript.js';
import { StoreError } from './store-error.js';

/** A message as a store writes it: the node that links it to its parent, and the body that holds its bytes. */
export interface NodeToWrite {
  id: string;
  /** `''` for a root. */
  parent: string;
  bodyId: string;
  bytes: Uint8Array;
}

/** A node as it is read, joined with its body. */
export interface NodeRow {
  id: string;
  parent: string | null;
  bytes: Uint8Array | null;
}

/**
 * Content that is written again counts as young again from this age on: seldom enough to cost nothing, and far below the
 * grace age of garbage collection (one hour at least), which relies on it.
 */
export const TOUCHED_EVERY_MS = 600_000;

/** A store's identity: what makes its ids its own, and so what a copy of it has to keep. */
export interface StoreIdentity {
  storeId: string;
  /** Keys every hash of stored content, so that ids tell nothing to who only sees ids. */
  tenantKey: Uint8Array;
}

/** Ids of what is addressed by its content; the same in every kind of store that has the same tenant key. */
export function contentIds(tenantKey: Uint8Array) {
  // Made once: from raw bytes each hash would spend 20 µs on it.
  const key = createSecretKey(tenantKey);

  function keyedHash(kind: 'body' | 'node', ...parts: (string | Uint8Array)[]): string {
    const hash = createHmac('sha256', key).update(`${kind}\n`);
    for (const part of parts) hash.update(part);
    return hash.digest('hex');
  }

  const bodyId = (bytes: Uint8Array): string => keyedHash('body', bytes);

  /** Of the message whose bytes follow `parent` (`''` for a root). */
  const nodeId = (parent: string, bytes: Uint8Array): string => keyedHash('node', parent, '\n', bytes);

  /** The chain of nodes that messages after `parent` (`''` for a root) become, in order. */
  const nodesAfter = (parent: string, messages: TranscriptMessage[]): NodeToWrite[] => {
    let before = parent;
    return messages.map((message) => {
      const bytes = Buffer.from(JSON.stringify(message));
      const node = { id: nodeId(before, bytes), parent: before, bodyId: bodyId(bytes), bytes };
      before = node.id;
      return node;
    });
  };

  return { bodyId, nodeId, nodesAfter };
}

export type ContentIds = ReturnType<typeof contentIds>;

/** Reads nodes of the store that `name` names, as its errors say it. */
export function nodeReader(name: string) {
  const missingNode = (id: string, why: string): StoreError =>
    new StoreError('missing_node', `store ${name}: transcript node ${id} is missing: ${why}`);

  const missingParent = (id: string): StoreError =>
    missingNode(id, 'nothing can be appended to it; was it written to another store?');

  const readNode = (row: NodeRow): TranscriptNode => {
    if (row.bytes === null) throw missingNode(row.id, 'its message is not in the store');
    const message = JSON.parse(new TextDecoder().decode(row.bytes)) as TranscriptMessage;
    return { id: row.id, parent: row.parent ?? '', message };
  };

  /** The chain that ends in `head`, from the rows of a walk from the head to the root. */
  const readChain = (head: string, walked: NodeRow[]): TranscriptNode[] => {
    const rows = walked.reverse();
    const first = rows[0];
    if (!first) throw missingNode(head, 'it was never written to this store, or was deleted');
    if (first.parent !== null) throw missingNode(first.parent, `${first.id} follows it`);
    return rows.map(readNode);
  };

  return { missingParent, readChain, readNode };
}

/** What can be the id of a body. */
export function isBodyId(id: string): boolean {
  return /^[0-9a-f]{64}$/.test(id);
}
