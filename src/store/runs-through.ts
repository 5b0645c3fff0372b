import type { CallModelResult } from '../contract/activities.js';
import type { UpkeepDatabase } from './upkeep-database.js';
import { pagesOfTurns } from './upkeep-pages.js';

/** From nodes to all that follow them, each with its parent. */
const BELOW = `WITH RECURSIVE below (id) AS (
  SELECT id FROM nodes WHERE id IN LIST(?1)
  UNION SELECT nodes.id FROM below JOIN nodes ON nodes.parent = below.id)`;

/**
 * Keys of the runs whose conversations, or answered turns, lead through `nodes`, by node. For what is found broken, which is
 * rare: it reads all turns. Memory grows with what follows the nodes.
 */
export async function runsThrough(database: UpkeepDatabase, nodes: string[]): Promise<Map<string, string[]>> {
  if (nodes.length === 0) return new Map();
  const { query } = database;
  const asked = JSON.stringify(nodes);
  const below = await query<{ id: string; parent: string | null }>(
    `${BELOW} SELECT nodes.id, nodes.parent FROM below JOIN nodes ON nodes.id = below.id`,
    asked,
  );
  const parentOf = new Map(below.map(({ id, parent }) => [id, parent]));
  const through = new Map(nodes.map((id) => [id, new Set<string>()]));
  const seen = { runKey: '', ids: new Set<string>() };
  const follow = (runKey: string, head: string): void => {
    if (seen.runKey !== runKey) Object.assign(seen, { runKey, ids: new Set<string>() });
    for (let id: string | null | undefined = head; id != null && parentOf.has(id); id = parentOf.get(id)) {
      // Where the run has been, it has been all the way down.
      if (seen.ids.has(id)) return;
      seen.ids.add(id);
      through.get(id)?.add(runKey);
    }
  };
  const heads = await query<{ run_key: string; head: string }>(
    `${BELOW} SELECT run_key, head FROM runs JOIN below ON below.id = runs.head`,
    asked,
  );
  for (const { run_key, head } of heads) follow(run_key, head);
  for await (const { rows } of pagesOfTurns(database)) {
    for (const { run_key, result } of rows) follow(run_key, (JSON.parse(result) as CallModelResult).head);
  }
  return new Map([...through].map(([id, runKeys]) => [id, [...runKeys]]));
}
