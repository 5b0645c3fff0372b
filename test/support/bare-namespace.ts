import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { expect } from 'vitest';
import { temporalServer } from './temporal-server.js';

/** Makes a namespace without perdure's search attributes on the run's server, and waits until the server knows it. */
export async function bareNamespace(): Promise<string> {
  const connection = await Connection.connect({ address: temporalServer().address });
  try {
    const namespace = `bare-${randomUUID()}`;
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
    });
    const known = () =>
      connection.operatorService.listSearchAttributes({ namespace }).then(
        () => true,
        () => false,
      );
    await expect.poll(known, { timeout: 30_000 }).toBe(true);
    return namespace;
  } finally {
    await connection.close();
  }
}
