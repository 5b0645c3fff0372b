import type { CallArguments } from '../contract/call.js';
import type { JsonObject } from '../contract/json.js';
import type { Store } from '../store/store.js';
import { StoreError } from '../store/store-error.js';

/** The arguments in full. Rejects with a `StoreError` that names the body where it is gone. */
export async function loadArguments(store: Store, args: CallArguments): Promise<JsonObject> {
  if ('inline' in args) return args.inline;
  const bytes = await store.getBody(args.bodyId);
  if (!bytes) throw new StoreError('missing_node', `the store does not hold body ${args.bodyId} (a call's arguments)`);
  return JSON.parse(new TextDecoder().decode(bytes)) as JsonObject;
}
