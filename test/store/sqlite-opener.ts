import { openSqliteStore } from '../../src/store/sqlite-store.js';
import type { WorkerStore } from '../../src/store/shared-state.js';

/** Opens the store in a child process, which knows its place by a string only. */
export function open(location: string): Promise<WorkerStore> {
  return openSqliteStore({ path: location });
}
