import type { PostgresOptions } from '../../src/store/postgres-database.js';
import { openPostgresStore } from '../../src/store/postgres-store.js';
import type { WorkerStore } from '../../src/store/shared-state.js';

/** Opens the store in a child process, which knows its place by a string only: the options as JSON. */
export function open(location: string): Promise<WorkerStore> {
  return openPostgresStore(JSON.parse(location) as PostgresOptions);
}
