import { openPostgresStore } from '../../src/store/postgres-store.js';
import type { Store } from '../../src/store/store.js';

/** Opens the store in a child process, which knows its place by a string only. */
export function open(location: string): Promise<Store> {
  return openPostgresStore({ connectionString: location });
}
