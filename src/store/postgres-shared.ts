import { createHash } from 'node:crypto';
import { sharedTransition, type SharedEvent, type SharedVerdict } from '../policy/shared-state.js';
import { inTurn } from './in-turn.js';
import type { PostgresDatabase } from './postgres-database.js';
import { WITHOUT_DISK } from './postgres-transaction.js';
import { SHARED_DROPPED_AFTER_MS, SHARED_SWEEP_EVERY_MS, sharedKey } from './shared-rows.js';

/** Breakers, limiters, retry budgets and locks: one row a kind and name, changed by the pure transitions alone. */
export function sharedOperations(database: PostgresDatabase) {
  // Many calls of one worker meet in one row: they wait for each other here, where that costs no connection.
  const applyInTurn = inTurn();
  let sweptAtMs = -Infinity;

  return {
    async applyShared(name: string, event: SharedEvent): Promise<SharedVerdict> {
      const key = indexable(sharedKey(name, event));
      const { verdict, nowMs } = await applyInTurn(key, () => apply(key, event));
      if (nowMs - sweptAtMs > SHARED_SWEEP_EVERY_MS) {
        sweptAtMs = nowMs;
        await database.transaction((tx) =>
          tx.commit([tx.query('DELETE FROM shared WHERE updated_at_ms < $1', [nowMs - SHARED_DROPPED_AFTER_MS])]),
        );
      }
      return verdict;
    },
  };

  function apply(key: string, event: SharedEvent): Promise<{ verdict: SharedVerdict; nowMs: number }> {
    return database.transaction(async (tx) => {
      const [, [found], nowMs] = await Promise.all([
        tx.query(WITHOUT_DISK),
        tx.query<{ state: string }>('SELECT state FROM shared WHERE name = $1 FOR UPDATE', [key]),
        tx.now(),
      ]);
      const before: unknown = found && JSON.parse(found.state);
      const { state, verdict } = sharedTransition(before, event, nowMs);
      const written = state === undefined ? undefined : JSON.stringify(state);
      if (written === found?.state) return { verdict, nowMs };
      const [text, values] =
        written === undefined
          ? ['DELETE FROM shared WHERE name = $1', [key]]
          : found
            ? ['UPDATE shared SET state = $2, updated_at_ms = $3 WHERE name = $1', [key, written, nowMs]]
            : // Plain: where another process was first, this is run again and finds the other's row.
              ['INSERT INTO shared (name, state, updated_at_ms) VALUES ($1, $2, $3)', [key, written, nowMs]];
      await tx.commit([tx.query(text, values)]);
      return { verdict, nowMs };
    });
  }
}

/** Names are anything that a tool's key function returns: an index of PostgreSQL holds no NUL, and 2,704 bytes at most. */
function indexable(key: string): string {
  const isPlain = !key.includes('\0') && Buffer.byteLength(key) <= 1_000;
  return isPlain ? key : `sha256/${createHash('sha256').update(key).digest('hex')}`;
}
