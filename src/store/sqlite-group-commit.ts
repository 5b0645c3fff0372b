import { versionCheck, whileBusy, type SqliteDatabase } from './sqlite-database.js';
import { toStoreError } from './sqlite-error.js';
import type { RequestMethod } from './request-store.js';
import type { StoreAnswer } from './sqlite-requests.js';

/** A request that reads or writes; `close` never comes here. */
export interface DataRequest {
  id: number;
  method: RequestMethod;
  args: unknown[];
}

/**
 * Runs requests that came together in one transaction, so that one sync to disk serves them all. The answers are true only
 * once the function has returned: every success in them is durable, and a request that failed left nothing behind.
 */
export function groupCommit(database: SqliteDatabase, perform: (request: DataRequest) => unknown) {
  const { db, path, busyTimeoutMs } = database;
  // Prepared once: three of them run for each request.
  const savepoint = db.prepare('SAVEPOINT request');
  const rollbackTo = db.prepare('ROLLBACK TO request');
  const release = db.prepare('RELEASE request');
  const checkVersion = versionCheck(db, path);
  /** As `openDatabase` left it. */
  let synchronous: 'FULL' | 'NORMAL' = 'FULL';

  return { read, write, writeRelaxed };

  function write(requests: DataRequest[]): StoreAnswer[] {
    return writeAs('FULL', requests);
  }

  function writeAs(durability: 'FULL' | 'NORMAL', requests: DataRequest[]): StoreAnswer[] {
    if (requests.length === 0) return [];
    if (synchronous !== durability) db.exec(`PRAGMA synchronous = ${durability}`);
    synchronous = durability;
    return inTransaction('BEGIN IMMEDIATE', requests, (request) => {
      savepoint.run();
      const answer = answerTo(request);
      // A full disk or the like has undone the whole transaction, and with it the requests before this one.
      if (!db.isTransaction) throw new Undone(answer);
      if ('error' in answer) rollbackTo.run();
      release.run();
      return answer;
    });
  }

  /**
   * The same without waiting for the disk: all processes see it at once, a crash of the machine may lose it. Durable
   * writes that follow take it to disk with them, so what is lost is always the newest.
   */
  function writeRelaxed(requests: DataRequest[]): StoreAnswer[] {
    return writeAs('NORMAL', requests);
  }

  /** On one snapshot, without the lock that writers queue for. */
  function read(requests: DataRequest[]): StoreAnswer[] {
    return inTransaction('BEGIN', requests, answerTo);
  }

  function inTransaction(
    begin: string,
    requests: DataRequest[],
    run: (request: DataRequest) => StoreAnswer,
  ): StoreAnswer[] {
    if (requests.length === 0) return [];
    try {
      whileBusy(busyTimeoutMs, () => {
        db.exec(begin);
      });
      // A newer perdure beside us may have migrated the file while we had it open, or somebody moved it away.
      checkVersion();
      const answers = requests.map(run);
      whileBusy(busyTimeoutMs, () => {
        db.exec('COMMIT');
      });
      return answers;
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      return requests.map((request) => failed(request, error));
    }
  }

  function answerTo(request: DataRequest): StoreAnswer {
    try {
      return { id: request.id, value: perform(request) };
    } catch (error) {
      return failed(request, error);
    }
  }

  function failed({ id, method }: DataRequest, error: unknown): StoreAnswer {
    if (error instanceof Undone) return { ...error.answer, id };
    const { code, message } = toStoreError(error, path, method);
    return { id, error: { code, message } };
  }
}

/** Carries the failure of one request to all the others that it undid. */
class Undone extends Error {
  readonly answer: StoreAnswer;
  constructor(answer: StoreAnswer) {
    super('the transaction was undone');
    this.answer = answer;
  }
}
