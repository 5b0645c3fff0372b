import { sharedTransition, type SharedEvent, type SharedVerdict } from '../policy/shared-state.js';
import { SHARED_DROPPED_AFTER_MS, SHARED_SWEEP_EVERY_MS, sharedKey } from './shared-rows.js';
import type { SqliteDatabase } from './sqlite-database.js';

/** Breakers, limiters, retry budgets and locks: one row a kind and name, changed by the pure transitions alone. */
export function sharedOperations({ db }: SqliteDatabase, now: () => number) {
  const select = db.prepare('SELECT state FROM shared WHERE name = ?');
  const upsert = db.prepare(
    `INSERT INTO shared (name, state, updated_at_ms) VALUES (:name, :state, :updatedAtMs)
     ON CONFLICT (name) DO UPDATE SET state = excluded.state, updated_at_ms = excluded.updated_at_ms`,
  );
  const remove = db.prepare('DELETE FROM shared WHERE name = ?');
  const sweep = db.prepare('DELETE FROM shared WHERE updated_at_ms < ?');
  let sweptAtMs = -Infinity;

  return {
    applyShared(name: string, event: SharedEvent): SharedVerdict {
      const nowMs = now();
      if (nowMs - sweptAtMs > SHARED_SWEEP_EVERY_MS) {
        sweep.run(nowMs - SHARED_DROPPED_AFTER_MS);
        sweptAtMs = nowMs;
      }
      const key = sharedKey(name, event);
      const stored = select.get(key)?.['state'] as string | undefined;
      const { state, verdict } = sharedTransition(stored === undefined ? undefined : JSON.parse(stored), event, nowMs);
      if (state === undefined) {
        if (stored !== undefined) remove.run(key);
        return verdict;
      }
      const written = JSON.stringify(state);
      if (written !== stored) upsert.run({ name: key, state: written, updatedAtMs: nowMs });
      return verdict;
    },
  };
}
