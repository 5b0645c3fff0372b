import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase, Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';
import { isConflict } from './postgres-error.js';

/**
 * How long a transaction waits for another's lock, and how long a process may be silent in the middle of one before the
 * server ends it: a process that was frozen or cut off while it held a lock must not hold up the others for ever. Locks
 * are held for milliseconds. `query_timeout` (postgres-database.ts) is longer, so that the server's word comes first.
 */
const LOCK_TIMEOUT_MS = 10_000;

/** Each attempt waits for the one in its way to end, so a second succeeds nearly always. */
const MAX_ATTEMPTS = 10;

/** Statements of one transaction. They are sent at once and answered in order: waiting for each would cost a round trip. */
export interface Transaction {
  query<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<R[]>;
  /** The server's clock once the statements before have been answered: after a lock was waited for, not before. */
  now(): Promise<number>;
  /** Sends the commit right behind the last statements; resolves with their rows once it is durable. */
  commit<T extends readonly unknown[]>(last: { [K in keyof T]: Promise<T[K]> }): Promise<T>;
}

/** The commit does not wait for the disk: for the writes of `relaxed-writes.ts`. */
export const WITHOUT_DISK = 'SET LOCAL synchronous_commit = off';

/** The server's clock inside a statement, epoch milliseconds. */
export const NOW_MS = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** Where transactions run. `expectedVersion` is the newest schema that this code knows. */
export interface TransactionPlace {
  pool: Pool;
  /** Quoted. */
  schema: string;
  expectedVersion: number;
}

/**
 * Runs `work` in a transaction; what it has not committed when it returns or throws is undone. A transaction that lost a
 * race (deadlock, a row that another wrote first) is run again, so `work` must be a function of what it reads.
 *
 * Rejects with the driver's error, or with what `work` threw.
 */
export async function transaction<T>(place: TransactionPlace, work: (tx: Transaction) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await withClient(place.pool, (client) => runOnce(client, beginOf(place), work));
    } catch (error) {
      if (!isConflict(error) || attempt >= MAX_ATTEMPTS) throw error;
      await sleep(Math.random() * 2 ** attempt);
    }
  }
}

/** One message to the server. The settings end with the transaction, so they hold behind a connection pooler too. */
function beginOf({ schema, expectedVersion }: TransactionPlace): string {
  return [
    'BEGIN ISOLATION LEVEL READ COMMITTED',
    `SET LOCAL search_path = ${schema}`,
    `SET LOCAL lock_timeout = ${String(LOCK_TIMEOUT_MS)}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${String(LOCK_TIMEOUT_MS)}`,
    `SELECT expect_version(${String(expectedVersion)})`,
  ].join('; ');
}

async function runOnce<T>(client: ClientBase, begin: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
  // Statements are sent before they are waited for, and `work` may throw in between: then nobody asks for their answers,
  // which must not count as unhandled rejections and end the process.
  // What follows a failed statement fails only for that, so the first failure is the one to tell.
  let firstFailure: unknown;
  const sent = <T>(answer: Promise<T>): Promise<T> => {
    answer.catch((error: unknown) => {
      firstFailure ??= error;
    });
    return answer;
  };
  const begun = sent(client.query(begin));
  let isCommitted = false;
  const query = <R extends QueryResultRow>(text: string, values?: unknown[]): Promise<R[]> =>
    sent(client.query<R>(text, values).then(({ rows }) => rows));
  try {
    const result = await work({
      query,
      async now() {
        const [row] = await query<{ now_ms: number }>(`SELECT ${NOW_MS} AS now_ms`);
        return row?.now_ms ?? NaN;
      },
      async commit(last) {
        const committed = sent(client.query('COMMIT'));
        const rows = await Promise.all(last);
        refuseRollback(await committed);
        isCommitted = true;
        return rows;
      },
    });
    await begun;
    if (!isCommitted) await client.query('ROLLBACK');
    return result;
  } catch (error) {
    // On a lost connection this fails too, and the server undoes what was open; `withClient` sees that it is unusable.
    await client.query('ROLLBACK').catch(() => undefined);
    throw firstFailure ?? error;
  }
}

/** A failed transaction answers its commit with the word ROLLBACK, and no error. */
function refuseRollback(result: QueryResult): void {
  if (result.command !== 'COMMIT')
    throw new Error(`the transaction was not committed: the server answered ${result.command}`);
}

/** Lends a connection of the pool; one that does not come back idle and whole is closed. */
async function withClient<T>(pool: Pool, use: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let lost = false;
  // Whatever was asked rejects with the same error; without a listener it would end the process.
  const onError = () => {
    lost = true;
  };
  client.on('error', onError);
  try {
    return await use(client);
  } finally {
    client.off('error', onError);
    client.release(lost || client.getTransactionStatus() !== 'I');
  }
}
