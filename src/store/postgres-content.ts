import type { Manifest } from '../contract/manifest.js';
import type { TranscriptNode } from '../contract/transcript.js';
import { contentIds, nodeReader, TOUCHED_EVERY_MS, type NodeRow, type NodeToWrite } from './content-ids.js';
import type { PostgresDatabase } from './postgres-database.js';
import { insertRows } from './postgres-rows.js';
import { NOW_MS, type Transaction } from './postgres-transaction.js';

/** What is addressed by a hash of its content: bodies, transcript nodes, manifests. Nothing here ever changes. */
export function contentOperations(database: PostgresDatabase) {
  const ids = contentIds(database.tenantKey);
  const { missingParent, readChain, readNode } = nodeReader(database.name);

  return {
    async putBody(bytes: Uint8Array): Promise<string> {
      const id = ids.bodyId(bytes);
      await database.transaction((tx) => tx.commit(writeBodies(tx, [{ id, bytes }])));
      return id;
    },

    async getBody(id: string): Promise<Uint8Array | undefined> {
      const [row] = await database.transaction((tx) =>
        tx.query<{ bytes: Buffer }>('SELECT bytes FROM bodies WHERE id = $1 AND erased_at_ms IS NULL', [id]),
      );
      return row && new Uint8Array(row.bytes.buffer, row.bytes.byteOffset, row.bytes.byteLength);
    },

    async getNode(id: string): Promise<TranscriptNode | undefined> {
      const [row] = await database.transaction((tx) =>
        tx.query<NodeRow>(
          'SELECT nodes.id, parent, bytes FROM nodes LEFT JOIN bodies ON bodies.id = body WHERE nodes.id = $1',
          [id],
        ),
      );
      return row && readNode(row);
    },

    async getChain(head: string): Promise<TranscriptNode[]> {
      if (head === '') return [];
      const walked = await database.transaction((tx) =>
        tx.query<NodeRow>(
          `WITH RECURSIVE chain (id, parent, body, distance) AS (
             SELECT id, parent, body, 0 FROM nodes WHERE id = $1
             UNION ALL
             SELECT nodes.id, nodes.parent, nodes.body, distance + 1 FROM chain JOIN nodes ON nodes.id = chain.parent
           )
           SELECT chain.id, chain.parent, bytes FROM chain LEFT JOIN bodies ON bodies.id = chain.body ORDER BY distance`,
          [head],
        ),
      );
      return readChain(head, walked);
    },

    async getManifest(hash: string): Promise<Manifest | undefined> {
      const [row] = await database.transaction((tx) =>
        tx.query<{ manifest: string }>('SELECT manifest FROM manifests WHERE hash = $1', [hash]),
      );
      return row && (JSON.parse(row.manifest) as Manifest);
    },

    // --- within the transactions of others -------------------------------------------------------------------------
    nodesAfter: ids.nodesAfter,

    /** Rejects with `missing_node` where there is no such node to append to; `''` is always there. */
    async requireParent(tx: Transaction, parent: string): Promise<void> {
      if (parent === '') return;
      const found = await tx.query('SELECT 1 FROM nodes WHERE id = $1', [parent]);
      if (found.length === 0) throw missingParent(parent);
    },

    writeNodes(tx: Transaction, nodes: NodeToWrite[]): Promise<unknown>[] {
      return [
        ...writeBodies(
          tx,
          nodes.map(({ bodyId, bytes }) => ({ id: bodyId, bytes })),
        ),
        ...insertRows(tx, {
          into: 'nodes (id, parent, body)',
          casts: ['text', 'text', 'text'],
          rows: nodes.map((node) => [node.id, node.parent === '' ? null : node.parent, node.bodyId]),
          onConflict: 'DO NOTHING',
          alongside: `UPDATE nodes SET touched_at_ms = ${NOW_MS} FROM given
                      WHERE nodes.id = given.id AND nodes.touched_at_ms < ${NOW_MS} - ${String(TOUCHED_EVERY_MS)}`,
        }),
      ];
    },

    writeManifest(tx: Transaction, manifest: Manifest): Promise<unknown> {
      return tx.query('INSERT INTO manifests (hash, manifest) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
        manifest.hash,
        JSON.stringify(manifest),
      ]);
    },
  };
}

export type ContentOperations = ReturnType<typeof contentOperations>;

function writeBodies(tx: Transaction, bodies: { id: string; bytes: Uint8Array }[]): Promise<unknown>[] {
  return insertRows(tx, {
    into: 'bodies (id, bytes)',
    casts: ['text', 'bytea'],
    rows: bodies.map(({ id, bytes }) => [id, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)]),
    onConflict: 'DO NOTHING',
    // Bytes that come again after an erasure are there again. Not by DO UPDATE, which locks the row even where it is
    // there already, so that runs with the same system prompt would queue for it.
    alongside: `UPDATE bodies SET bytes = given.bytes, erased_at_ms = NULL, touched_at_ms = ${NOW_MS} FROM given
                WHERE bodies.id = given.id AND (bodies.erased_at_ms IS NOT NULL
                  OR bodies.touched_at_ms < ${NOW_MS} - ${String(TOUCHED_EVERY_MS)})`,
  });
}
