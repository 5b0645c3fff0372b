import { openPostgresStore } from './postgres-store.js';
import type { WorkerStore } from './shared-state.js';
import { openSqliteStore } from './sqlite-store.js';
import type { StoreChoice } from './store-choice.js';

/** Opens the store, creating it where there is none. Rejects with a `StoreError`. */
export async function openStore(choice: StoreChoice): Promise<WorkerStore> {
  if ('path' in choice) return await openSqliteStore(choice);
  const { url, ...options } = choice;
  return await openPostgresStore({ connectionString: url, ...options });
}
