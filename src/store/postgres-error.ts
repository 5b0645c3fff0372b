import { StoreError, type StoreErrorCode } from './store-error.js';

interface Meaning {
  code: StoreErrorCode;
  problem: string;
}

const unavailable = (problem: string): Meaning => ({ code: 'unavailable', problem });

/** Raised by our own `expect_version` where a newer perdure has changed the schema. */
export const NEWER_SCHEMA = 'PDNEW';

/** SQLSTATEs (https://www.postgresql.org/docs/15/errcodes-appendix.html) and what they mean for a caller. */
const STATES: Record<string, Meaning> = {
  '28P01': unavailable('the user or the password is not accepted; check both in store.url or PERDURE_STORE'),
  '28000': unavailable(
    'the server does not let this user in from here; check store.url, store.tls and its pg_hba.conf',
  ),
  '3D000': unavailable('there is no such database; create it (createdb), or correct the name in store.url'),
  '42501': unavailable(
    'the user has not the rights; it must own the schema, or be granted CREATE on the database for the first start',
  ),
  '53100': unavailable("the server's disk is full"),
  '53200': unavailable('the server ran out of memory'),
  '53300': unavailable('the server takes no more connections; lower store.poolSize or raise its max_connections'),
  '57P01': unavailable('the server is being stopped'),
  '57P02': unavailable('the server crashed and is restarting'),
  '57P03': unavailable('the server is starting or stopping'),
  '57014': unavailable('the server cancelled the statement'),
  '58030': unavailable("the server could not read or write its disk; see the server's log"),
  '25P03': unavailable('this process was silent for too long in the middle of a transaction'),
  '25006': unavailable('the server is a read-only standby; set store.url to the primary'),
  '55P03': unavailable('another process kept a lock for too long'),
  '40001': unavailable('other processes were in the way, again and again'),
  '40P01': unavailable('other processes were in the way, again and again'),
  '23505': unavailable('other processes were in the way, again and again'),
  '42P01': { code: 'corrupt', problem: 'a table is missing; restore it from a backup' },
  '42703': { code: 'corrupt', problem: 'a column is missing; restore it from a backup' },
  '42883': { code: 'corrupt', problem: 'its schema is not there any more; restore it from a backup' },
  '3F000': { code: 'corrupt', problem: 'its schema is not there any more; restore it from a backup' },
  XX001: { code: 'corrupt', problem: 'the database is damaged; restore it from a backup' },
  XX002: { code: 'corrupt', problem: 'an index is damaged; REINDEX it' },
  [NEWER_SCHEMA]: { code: 'newer_schema', problem: 'a newer perdure has changed its schema. Update perdure' },
};

/** Codes of Node's network and TLS errors. */
const SYSTEM: Record<string, Meaning> = {
  ENOTFOUND: unavailable('there is no host of that name; check store.url'),
  EAI_AGAIN: unavailable('the name of the host cannot be looked up now; check store.url'),
  ECONNREFUSED: unavailable('nothing listens there; start PostgreSQL, or correct host and port in store.url'),
  ENOENT: unavailable('there is no socket in that folder; start PostgreSQL, or correct store.url'),
  EACCES: unavailable('access to the socket is denied'),
  ECONNRESET: unavailable('the connection was lost'),
  EPIPE: unavailable('the connection was lost'),
  ETIMEDOUT: unavailable('the server did not answer in time'),
  ERR_TLS_CERT_ALTNAME_INVALID: unavailable(
    "the server's certificate is for another name; set store.tls.serverName to the certificate's",
  ),
};

const UNTRUSTED = unavailable(
  "the server's certificate is not trusted; set store.tls.ca to its authority's file, or store.tls.verify to false",
);

/** The driver's own words for what has no code. */
const DRIVER_WORDS: [RegExp, Meaning][] = [
  [/does not support SSL/, unavailable('the server does not encrypt; set store.tls to false')],
  [/password must be/, unavailable('the server asks for a password; add one to store.url, or set PGPASSWORD')],
  [
    /timeout exceeded when trying to connect/,
    unavailable('all connections of the pool are busy; raise store.poolSize'),
  ],
  [/timeout/i, unavailable('the server did not answer in time')],
  [/Connection terminated|not queryable|Connection ended|socket/i, unavailable('the connection was lost')],
];

const BUSY_STATES: ReadonlySet<string> = new Set([
  '40001',
  '40P01',
  // Somebody else wrote the row first that was not there when we looked: looking again finds it.
  '23505',
  // What was referred to was collected since we looked, or came to be referred to while we collected it.
  '23503',
]);

/** Another transaction was in the way, and this one was undone: the same again may succeed at once. */
export function isConflict(error: unknown): boolean {
  return BUSY_STATES.has(codeOf(error) ?? '');
}

export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return error.code;
}

/** What a caller is told instead of a driver's error. `doing` completes "the store … failed while …". */
export function toStoreError(error: unknown, name: string, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const meaning = meaningOf(error, reason);
  if (!meaning) return new StoreError('invalid', `store ${name}: ${doing} failed: ${reason}`, { cause: error });
  // An AggregateError (several addresses of one host) has no message of its own.
  const detail = reason === '' ? doing : `${doing}: ${reason}`;
  return new StoreError(meaning.code, `store ${name}: ${meaning.problem} (${detail})`, { cause: error });
}

function meaningOf(error: unknown, reason: string): Meaning | undefined {
  const code = codeOf(error);
  if (code !== undefined) {
    // Class 08 is "connection exception".
    if (code.startsWith('08')) return SYSTEM['ECONNRESET'];
    if (/CERT|SIGNATURE/.test(code)) return SYSTEM[code] ?? UNTRUSTED;
    const known = STATES[code] ?? SYSTEM[code];
    if (known) return known;
    return error instanceof Error && 'syscall' in error ? unavailable('the connection failed') : undefined;
  }
  return DRIVER_WORDS.find(([words]) => words.test(reason))?.[1];
}
