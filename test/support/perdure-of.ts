import type { Connection } from '@temporalio/client';
import { Perdure } from '../../src/client/perdure-client.js';
import { TemporalRuns } from '../../src/client/temporal-runs.js';
import type { Engine, EngineServer } from './engine.js';

/** A client on an engine's, or a bench's, own store and connection, which stay the engine's to close. */
export function perdureOf(
  engine: Pick<Engine, 'store' | 'client'> & { server: Pick<EngineServer, 'address' | 'namespace'> },
): Perdure {
  const { address, namespace } = engine.server;
  const connection = engine.client.connection as Connection;
  return new Perdure({
    store: engine.store,
    server: new TemporalRuns({ connection, namespace, address, uiUrl: undefined }),
  });
}
