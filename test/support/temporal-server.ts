import { Client, Connection } from '@temporalio/client';
import { inject } from 'vitest';

/** The run's one Temporal server, as tests in test/e2e and test/crash reach it, and the bundled workflows. */
export function temporalServer(): { address: string; namespace: string; workflowBundle: string } {
  return {
    address: inject('temporalAddress'),
    namespace: inject('temporalNamespace'),
    workflowBundle: inject('workflowBundle'),
  };
}

/** A client of the run's server, to be disposed of: `await using temporal = await temporalClient()`. */
export async function temporalClient(): Promise<{ client: Client } & AsyncDisposable> {
  const { address, namespace } = temporalServer();
  const connection = await Connection.connect({ address });
  return {
    client: new Client({ connection, namespace }),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}
