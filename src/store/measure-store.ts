import { statSync } from 'node:fs';
import type { UpkeepDatabase } from './upkeep-database.js';

export interface KindSize {
  kind: string;
  rows: number;
  /** Of the content; what the database adds (pages, indexes) is in `fileBytes`. */
  bytes: number;
}

export interface RunSize {
  workflowId: string;
  runKey: string;
  status: string;
  /** Model turns, those included that were set aside and a model's last words at a limit. */
  turns: number;
  calls: number;
  /** Its conversation (shared with its forks), turns, calls and attempts. Large results, kept as bodies, are not in it. */
  bytes: number;
  startedAtMs: number;
}

export interface StoreSizes {
  store: string;
  storeId: string;
  /** What the database takes on disk, its log included. */
  fileBytes: number;
  kinds: KindSize[];
  /** The biggest first. */
  biggestRuns: RunSize[];
}

/** Columns that hold the content of each kind. */
const CONTENT: Readonly<Record<string, readonly string[]>> = {
  runs: ['task', 'result'],
  nodes: ['id', 'parent', 'body'],
  bodies: ['bytes'],
  turns: ['result'],
  calls: ['outcome', 'rendered'],
  attempts: ['failure', 'requests'],
  interventions: ['intervention'],
  manifests: ['manifest'],
  tombstones: ['run_key', 'workflow_id'],
  shared: ['name', 'state'],
};

/** Rows and bytes of each kind, and the runs that take the most. Reads the whole store once. Rejects with a `StoreError`. */
export async function measureStore(database: UpkeepDatabase, options: { runs: number }): Promise<StoreSizes> {
  const kinds = await countKinds(database);
  return {
    store: database.name,
    storeId: database.storeId,
    fileBytes: await bytesOnDisk(database),
    kinds,
    biggestRuns: await biggestRuns(database, options.runs),
  };
}

export async function countKinds({ query, blobs }: UpkeepDatabase): Promise<KindSize[]> {
  const kinds: KindSize[] = [];
  for (const [kind, columns] of Object.entries(CONTENT)) {
    const bytes = columns.map((column) => `coalesce(sum(octet_length(${column})), 0)`).join(' + ');
    const [size] = await query<{ rows: number; bytes: number }>(
      `SELECT count(*) AS rows, ${bytes} AS bytes FROM ${kind}`,
    );
    kinds.push({ kind, rows: Number(size?.rows ?? 0), bytes: Number(size?.bytes ?? 0) });
  }
  if (!blobs) return kinds;
  const files: KindSize = { kind: 'blob files', rows: 0, bytes: 0 };
  for await (const { bytes } of blobs.list()) {
    files.rows += 1;
    files.bytes += bytes;
  }
  return [...kinds, files];
}

async function bytesOnDisk({ kind, name, query }: UpkeepDatabase): Promise<number> {
  if (kind === 'sqlite') {
    return [name, `${name}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
  }
  const [size] = await query<{ bytes: number }>(
    `SELECT sum(pg_total_relation_size(oid))::bigint AS bytes FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`,
  );
  return size?.bytes ?? 0;
}

async function biggestRuns({ query }: UpkeepDatabase, limit: number): Promise<RunSize[]> {
  const rows = await query<Record<keyof RunSize, string | number>>(
    `WITH RECURSIVE chain (run_key, id) AS (
       SELECT run_key, head FROM runs WHERE head IS NOT NULL
       UNION ALL SELECT chain.run_key, nodes.parent FROM chain JOIN nodes ON nodes.id = chain.id WHERE nodes.parent IS NOT NULL
     ), parts (run_key, turns, calls, bytes) AS (
       SELECT chain.run_key, 0, 0, octet_length(bodies.bytes) FROM chain JOIN nodes ON nodes.id = chain.id
         JOIN bodies ON bodies.id = nodes.body
       UNION ALL SELECT run_key, 1, 0, octet_length(result) FROM turns WHERE result IS NOT NULL
       UNION ALL SELECT run_key, 0, 1, coalesce(octet_length(outcome), 0) + coalesce(octet_length(rendered), 0) FROM calls
       UNION ALL SELECT calls.run_key, 0, 0, coalesce(octet_length(failure), 0) + coalesce(octet_length(requests), 0)
         FROM attempts JOIN calls ON calls.key = attempts.key
     ), sizes (run_key, turns, calls, bytes) AS (
       SELECT run_key, sum(turns), sum(calls), sum(bytes) FROM parts GROUP BY run_key
     )
     SELECT runs.workflow_id AS "workflowId", runs.run_key AS "runKey", status, started_at_ms AS "startedAtMs",
       coalesce(turns, 0) AS turns, coalesce(calls, 0) AS calls, coalesce(bytes, 0) AS bytes
     FROM runs LEFT JOIN sizes ON sizes.run_key = runs.run_key ORDER BY coalesce(bytes, 0) DESC, runs.ordinal LIMIT ?1`,
    limit,
  );
  return rows.map(({ workflowId, runKey, status, startedAtMs, turns, calls, bytes }) => ({
    ...{ workflowId: String(workflowId), runKey: String(runKey), status: String(status) },
    ...{ startedAtMs: Number(startedAtMs), turns: Number(turns), calls: Number(calls), bytes: Number(bytes) },
  }));
}
