import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { TypedSearchAttributes } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { searchAttributeKeys } from '../../../src/contract/search-attributes.js';
import {
  checkSearchAttributes,
  registerCommand,
  registerSearchAttributes,
} from '../../../src/server/search-attributes.js';
import { findTemporalCli } from '../../../src/server/temporal-cli.js';
import { bareNamespace } from '../../support/bare-namespace.js';
import { temporalClient, temporalServer } from '../../support/temporal-server.js';

const { IndexedValueType } = proto.temporal.api.enums.v1;
const all = Object.values(searchAttributeKeys);

let connection: Connection;
beforeAll(async () => {
  connection = await Connection.connect({ address: temporalServer().address });
});
afterAll(() => connection.close());

describe('search attributes', () => {
  it('are ready on the embedded server, and a run is found by them', async () => {
    const { namespace } = temporalServer();
    expect(await checkSearchAttributes(connection, namespace)).toEqual({ status: 'ready' });

    await using temporal = await temporalClient();
    const workflowId = randomUUID();
    await temporal.client.workflow.start('anything', {
      taskQueue: 'nobody',
      workflowId,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: searchAttributeKeys.status, value: 'running' },
        { key: searchAttributeKeys.tools, value: ['refund_payment', 'print_label'] },
      ]),
    });
    const query = `PerdureStatus = "running" AND PerdureTools = "print_label" AND WorkflowId = "${workflowId}"`;
    await expect.poll(() => temporal.client.workflow.count(query).then(({ count }) => count)).toBe(1);
    await temporal.client.workflow.getHandle(workflowId).terminate();
  });

  it('are named where they are missing, and registered', async () => {
    const namespace = await bareNamespace();
    expect(await checkSearchAttributes(connection, namespace)).toEqual({ status: 'missing', missing: all });
    await registerSearchAttributes(connection, { namespace, missing: all });
    expect(await checkSearchAttributes(connection, namespace)).toEqual({ status: 'ready' });
  });

  it('are registered by the command that is told, pasted into a shell', async () => {
    const namespace = await bareNamespace();
    const command = registerCommand(all, { address: temporalServer().address, namespace });
    const cli = findTemporalCli(process.env);
    if (!cli) throw new Error('no Temporal CLI');
    execFileSync('/bin/sh', ['-ec', `temporal() { '${cli.path}' "$@"; }\n${command}`]);
    await expect
      .poll(() => checkSearchAttributes(connection, namespace), { timeout: 10_000 })
      .toEqual({ status: 'ready' });
  });

  it('are reported with the other type where somebody registered one differently', async () => {
    const namespace = await bareNamespace();
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: { PerdureTools: IndexedValueType.INDEXED_VALUE_TYPE_TEXT },
    });
    await expect
      .poll(() => checkSearchAttributes(connection, namespace), { timeout: 10_000 })
      .toEqual({
        status: 'mismatched',
        mismatched: [{ attribute: searchAttributeKeys.tools, registeredAs: 'text' }],
      });
  });

  it('are unknown, and nothing is thrown, where the server does not say', async () => {
    const check = await checkSearchAttributes(connection, 'no-such-namespace');
    expect(check).toEqual({ status: 'unknown', reason: expect.stringContaining('no-such-namespace') });
  });
});
