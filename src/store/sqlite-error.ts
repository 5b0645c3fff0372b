import { StoreError, type StoreErrorCode } from './store-error.js';

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html) and what they mean for a caller. */
const BUSY = 5;
const LOCKED = 6;
const CODES: Record<number, { code: StoreErrorCode; problem: string }> = {
  3: { code: 'unavailable', problem: 'access to the file is denied' },
  [BUSY]: { code: 'unavailable', problem: 'another process kept the file locked' },
  [LOCKED]: { code: 'unavailable', problem: 'another process kept the file locked' },
  7: { code: 'unavailable', problem: 'memory ran out' },
  8: { code: 'unavailable', problem: 'the file cannot be written' },
  10: { code: 'unavailable', problem: 'reading or writing the disk failed' },
  11: { code: 'corrupt', problem: 'the file is damaged; restore it from a backup' },
  13: { code: 'unavailable', problem: 'the disk is full' },
  14: { code: 'unavailable', problem: 'the file cannot be opened' },
  15: { code: 'unavailable', problem: 'other processes were in the way of its log, again and again' },
  26: { code: 'not_a_store', problem: 'the file is not a SQLite database; set store.path to another file' },
};

/** SQLite's primary result code of a driver error; `undefined` for any other error. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}

/** Another connection holds the lock that was asked for. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED;
}

/** What a caller is told instead of a driver's or the system's error. `doing` completes "the store … failed while …". */
export function toStoreError(error: unknown, path: string, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const known = CODES[resultCode(error) ?? -1];
  if (known) {
    return new StoreError(known.code, `store ${path}: ${known.problem} (${doing}: ${reason})`, { cause: error });
  }
  const isSystemError = error instanceof Error && 'syscall' in error;
  return new StoreError(isSystemError ? 'unavailable' : 'invalid', `store ${path}: ${doing} failed: ${reason}`, {
    cause: error,
  });
}
