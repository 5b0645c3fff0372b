import type { ResolvedConfig } from '../config/config.js';
import { connectClient, type FoundServer, unreachableAdvice } from '../server/connection.js';
import { createRedactor } from '../policy/redaction.js';
import { openStore } from '../store/open-store.js';
import type { PerdureParts, UnansweredServer } from './run-reader.js';
import { TemporalRuns } from './temporal-runs.js';

/** The Temporal UI of a server started by hand: https://docs.temporal.io/cli/server#start-dev */
const USUAL_UI = { address: '127.0.0.1:7233', url: 'http://localhost:8233' };

/**
 * Opens the configuration's store and, where one was found, a connection to the server. `Perdure.close` closes both.
 * Throws `StoreError` and `ServerUnreachableError`, and leaves nothing open then.
 */
export async function openParts(
  config: ResolvedConfig,
  server: FoundServer | UnansweredServer,
  options: { connectTimeoutMs?: number } = {},
): Promise<PerdureParts> {
  const store = await openStore(config.store);
  const { model } = config;
  const parts = {
    store,
    redactor: createRedactor({ secrets: config.secrets }),
    ...(model && !model.prices && { modelWithoutPrices: model.name }),
  };
  if (!('client' in server)) return { ...parts, server: undefined, unanswered: server };
  try {
    return { ...parts, server: await openTemporalRuns(server, options) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Throws `ServerUnreachableError`. */
export async function openTemporalRuns(
  server: FoundServer,
  options: { connectTimeoutMs?: number } = {},
): Promise<TemporalRuns> {
  const connection = await connectClient(server, options.connectTimeoutMs);
  const { namespace, address } = server;
  const uiUrl = server.uiUrl ?? (address === USUAL_UI.address ? USUAL_UI.url : undefined);
  return new TemporalRuns({ connection, namespace, address, uiUrl, advice: unreachableAdvice(server) });
}
