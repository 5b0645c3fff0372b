import { createHmac, createSecretKey } from 'node:crypto';
import type { Manifest } from '../contract/manifest.js';
import type { TranscriptMessage, TranscriptNode } from '../contract/transcript.js';
import type { SqliteDatabase } from './sqlite-database.js';
import { StoreError } from './store.js';

interface NodeRow {
  id: string;
  parent: string | null;
  bytes: Uint8Array | null;
}

/** What is addressed by a hash of its content: bodies, transcript nodes, manifests. Nothing here ever changes. */
export function contentOperations({ db, tenantKey, path }: SqliteDatabase) {
  const insertBody = db.prepare(
    // Bytes that come again after an erasure are there again.
    `INSERT INTO bodies (id, bytes) VALUES (?, ?)
     ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes, erased_at_ms = NULL WHERE erased_at_ms IS NOT NULL`,
  );
  const selectBody = db.prepare('SELECT bytes FROM bodies WHERE id = ? AND erased_at_ms IS NULL');
  const insertNode = db.prepare('INSERT INTO nodes (id, parent, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const nodeExists = db.prepare('SELECT 1 FROM nodes WHERE id = ?');
  const selectNode = db.prepare(
    'SELECT nodes.id, parent, bytes FROM nodes LEFT JOIN bodies ON bodies.id = body WHERE nodes.id = ?',
  );
  // The rows of a recursive query come in the order of the walk: from the head to the root.
  const selectChain = db.prepare(
    `WITH RECURSIVE chain (id, parent, body) AS (
       SELECT id, parent, body FROM nodes WHERE id = ?
       UNION ALL
       SELECT nodes.id, nodes.parent, nodes.body FROM chain JOIN nodes ON nodes.id = chain.parent
     )
     SELECT chain.id, chain.parent, bytes FROM chain LEFT JOIN bodies ON bodies.id = chain.body`,
  );
  const insertManifest = db.prepare('INSERT INTO manifests (hash, manifest) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const selectManifest = db.prepare('SELECT manifest FROM manifests WHERE hash = ?');

  // Made once: from raw bytes each hash would spend 20 µs on it.
  const key = createSecretKey(tenantKey);

  function keyedHash(kind: 'body' | 'node', ...parts: (string | Uint8Array)[]): string {
    const hash = createHmac('sha256', key).update(`${kind}\n`);
    for (const part of parts) hash.update(part);
    return hash.digest('hex');
  }

  function putBody(bytes: Uint8Array): string {
    const id = keyedHash('body', bytes);
    insertBody.run(id, bytes);
    return id;
  }

  function readNode(row: NodeRow): TranscriptNode {
    if (row.bytes === null) throw missingNode(row.id, 'its message is not in the store');
    const message = JSON.parse(new TextDecoder().decode(row.bytes)) as TranscriptMessage;
    return { id: row.id, parent: row.parent ?? '', message };
  }

  function missingNode(id: string, why: string): StoreError {
    return new StoreError('missing_node', `store ${path}: transcript node ${id} is missing: ${why}`);
  }

  return {
    putBody,

    getBody(id: string): Uint8Array | undefined {
      return (selectBody.get(id) as { bytes: Uint8Array } | undefined)?.bytes;
    },

    /** Appends messages after `parent` (`''` for a root) and returns the last one's node; `parent` where there is none. */
    appendNodes(parent: string, messages: TranscriptMessage[]): string {
      if (parent !== '' && !nodeExists.get(parent)) {
        throw missingNode(parent, 'nothing can be appended to it; was it written to another store?');
      }
      return messages.reduce((before, message) => {
        const bytes = Buffer.from(JSON.stringify(message));
        const id = keyedHash('node', before, '\n', bytes);
        insertNode.run(id, before === '' ? null : before, putBody(bytes));
        return id;
      }, parent);
    },

    getNode(id: string): TranscriptNode | undefined {
      const row = selectNode.get(id) as NodeRow | undefined;
      return row && readNode(row);
    },

    getChain(head: string): TranscriptNode[] {
      if (head === '') return [];
      const rows = (selectChain.all(head) as unknown as NodeRow[]).reverse();
      const first = rows[0];
      if (!first) throw missingNode(head, 'it was never written to this store, or was deleted');
      if (first.parent !== null) throw missingNode(first.parent, `${first.id} follows it`);
      return rows.map(readNode);
    },

    putManifest(manifest: Manifest): void {
      insertManifest.run(manifest.hash, JSON.stringify(manifest));
    },

    getManifest(hash: string): Manifest | undefined {
      const row = selectManifest.get(hash) as { manifest: string } | undefined;
      return row && (JSON.parse(row.manifest) as Manifest);
    },
  };
}

export type ContentOperations = ReturnType<typeof contentOperations>;
