import type { Connection } from '@temporalio/client';
import { Perdure } from '../../src/client/perdure-client.js';
import { TemporalRuns } from '../../src/client/temporal-runs.js';
import type { Engine } from './engine.js';

/** A client on the engine's own store and connection, which stay the engine's to close. */
export function perdureOf(engine: Engine): Perdure {
  const { address, namespace } = engine.server;
  const connection = engine.client.connection as Connection;
  return new Perdure({
    store: engine.store,
    server: new TemporalRuns({ connection, namespace, address, uiUrl: undefined }),
  });
}
