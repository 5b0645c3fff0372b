/**
 * The store's thread: it alone talks to SQLite, so that no lock or sync to disk ever blocks the event loop that renews
 * leases and sends heartbeats.
 *
 * Reads go through the same connection: they see what was written before them without any coordination, and at some
 * microseconds each they are cheaper than a second connection's cache. In a batch the writes run first and are answered
 * before the reads, so that a long read holds up no writer of another process.
 */
import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import { machineClock } from './machine-clock.js';
import type { WorkerStore } from './shared-state.js';
import { callOperations } from './sqlite-calls.js';
import { contentOperations } from './sqlite-content.js';
import { openDatabase, type SqliteDatabase } from './sqlite-database.js';
import { toStoreError } from './sqlite-error.js';
import { groupCommit, type DataRequest } from './sqlite-group-commit.js';
import { isRelaxed } from './relaxed-writes.js';
import type { RequestMethod } from './request-store.js';
import type { StoreAnswer, ThreadMessage, ThreadOptions, ThreadRequests } from './sqlite-requests.js';
import { runOperations } from './sqlite-runs.js';
import { sharedOperations } from './sqlite-shared.js';

/** About how many requests one transaction may hold, which bounds how long it keeps other processes waiting. */
const MAX_BATCH = 256;

/** Every method of the store as its thread performs it: inside a transaction, at once. */
type Operations = {
  [M in RequestMethod]: (...args: Parameters<WorkerStore[M]>) => Awaited<ReturnType<WorkerStore[M]>>;
};

const READS: ReadonlySet<RequestMethod> = new Set<RequestMethod>([
  'now',
  'getRun',
  'listRuns',
  'getManifest',
  'getNode',
  'getChain',
  'getTurn',
  'listTurns',
  'getTombstone',
  'listInterventions',
  'listTakenBack',
  'getCall',
  'findRendered',
  'listFailedCalls',
  'listTurnAttempts',
  'listCalls',
  'listCallsSince',
  'getBody',
]);

function sqliteOperations(database: SqliteDatabase): Operations {
  const now = machineClock();
  const content = contentOperations(database, now);
  const calls = callOperations(database, now);
  const runs = runOperations(database, now, content, calls);
  return { now, ...content, ...calls, ...runs, ...sharedOperations(database, now) };
}

function serve(port: MessagePort, database: SqliteDatabase): void {
  const operations = sqliteOperations(database);
  const { read, write, writeRelaxed } = groupCommit(database, ({ method, args }) =>
    // The main thread's typed methods made the request, so the arguments are the method's own.
    (operations[method] as (...values: unknown[]) => unknown)(...args),
  );
  const answer = (answers: StoreAnswer[]) => {
    if (answers.length > 0) tell(port, { type: 'answers', answers });
  };

  port.on('message', (first: ThreadRequests) => {
    const batch: DataRequest[] = [];
    let closing: number | undefined;
    for (
      let next: ThreadRequests | undefined = first;
      next;
      next = batch.length < MAX_BATCH ? waiting(port) : undefined
    ) {
      for (const request of next) {
        if (request.method === 'close') closing = request.id;
        else batch.push(request);
      }
    }
    const writes = batch.filter(({ method }) => !READS.has(method));
    const reads = batch.filter(({ method }) => READS.has(method));
    if (writes.every(({ method, args }) => isRelaxed(method, args))) {
      answer([...writeRelaxed(writes), ...read(reads)]);
    } else {
      // One sync serves all. Answered at once, because reads may take long.
      answer(write(writes));
      answer(read(reads));
    }
    if (closing === undefined) return;
    database.db.close();
    answer([{ id: closing, value: undefined }]);
    port.close();
  });
}

function waiting(port: MessagePort): ThreadRequests | undefined {
  return (receiveMessageOnPort(port) as { message: ThreadRequests } | undefined)?.message;
}

function tell(port: MessagePort, message: ThreadMessage): void {
  port.postMessage(message);
}

// Node 22 warns on stderr that node:sqlite is experimental, which is nothing that a user of perdure can act on. The listener
// is this thread's own; Node 24 has no such warning.
process.removeAllListeners('warning');

if (parentPort) {
  const options = workerData as ThreadOptions;
  try {
    const database = openDatabase(options);
    const { storeId, tenantKey } = database;
    tell(parentPort, { type: 'open', storeId, tenantKey });
    serve(parentPort, database);
  } catch (error) {
    const { code, message } = toStoreError(error, options.path, 'opening');
    tell(parentPort, { type: 'failed', error: { code, message } });
    parentPort.close();
  }
}
