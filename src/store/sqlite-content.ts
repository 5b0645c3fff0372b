import type { Manifest } from '../contract/manifest.js';
import type { TranscriptMessage, TranscriptNode } from '../contract/transcript.js';
import { contentIds, nodeReader, TOUCHED_EVERY_MS, type NodeRow } from './content-ids.js';
import type { SqliteDatabase } from './sqlite-database.js';

/** What is addressed by a hash of its content: bodies, transcript nodes, manifests. Nothing here ever changes. */
export function contentOperations({ db, tenantKey, path }: SqliteDatabase, now: () => number) {
  const insertBody = db.prepare(
    // Bytes that come again after an erasure are there again.
    `INSERT INTO bodies (id, bytes, touched_at_ms) VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes, erased_at_ms = NULL, touched_at_ms = excluded.touched_at_ms
     WHERE erased_at_ms IS NOT NULL OR touched_at_ms < excluded.touched_at_ms - ${String(TOUCHED_EVERY_MS)}`,
  );
  const selectBody = db.prepare('SELECT bytes FROM bodies WHERE id = ? AND erased_at_ms IS NULL');
  const insertNode = db.prepare(
    `INSERT INTO nodes (id, parent, body, touched_at_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET touched_at_ms = excluded.touched_at_ms
     WHERE touched_at_ms < excluded.touched_at_ms - ${String(TOUCHED_EVERY_MS)}`,
  );
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

  const ids = contentIds(tenantKey);
  const { missingParent, readChain, readNode } = nodeReader(path);

  function putBody(bytes: Uint8Array): string {
    const id = ids.bodyId(bytes);
    insertBody.run(id, bytes, now());
    return id;
  }

  return {
    putBody,

    getBody(id: string): Uint8Array | undefined {
      return (selectBody.get(id) as { bytes: Uint8Array } | undefined)?.bytes;
    },

    /** Appends messages after `parent` (`''` for a root) and returns the last one's node; `parent` where there is none. */
    appendNodes(parent: string, messages: TranscriptMessage[]): string {
      if (parent !== '' && !nodeExists.get(parent)) throw missingParent(parent);
      const nodes = ids.nodesAfter(parent, messages);
      const nowMs = now();
      for (const node of nodes) {
        insertBody.run(node.bodyId, node.bytes, nowMs);
        insertNode.run(node.id, node.parent === '' ? null : node.parent, node.bodyId, nowMs);
      }
      return nodes.at(-1)?.id ?? parent;
    },

    getNode(id: string): TranscriptNode | undefined {
      const row = selectNode.get(id) as NodeRow | undefined;
      return row && readNode(row);
    },

    getChain(head: string): TranscriptNode[] {
      if (head === '') return [];
      return readChain(head, selectChain.all(head) as unknown as NodeRow[]);
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
