import { describe, expect, it } from 'vitest';
import { defineTool } from '../../../src/tools/define-tool.js';
import { openTestBed, scriptedModel } from '../../../src/testing/index.js';
import { temporalServer } from '../../support/temporal-server.js';

describe('a test bed', () => {
  it('fails on a run that the test left going, and ends it', async () => {
    const wait = defineTool({
      name: 'wait',
      description: 'Wait.',
      effect: 'read',
      input: { type: 'object' },
      execute: (_args, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    });
    const model = scriptedModel({ turns: [{ calls: [{ tool: 'wait' }] }] });
    const bed = await openTestBed({ tools: [wait], model }, { server: temporalServer() });
    const { runId } = await bed.client.start('Wait.');
    await expect.poll(async () => (await (await bed.client.get(runId)).describe()).steps.length).toBe(1);
    await expect(bed[Symbol.asyncDispose]()).rejects.toThrow(`the run ${runId} had not ended`);
  });

  it('says so in its log where faults are on', async () => {
    const tool = defineTool({
      name: 'a',
      description: 'A.',
      effect: 'read',
      input: { type: 'object' },
      execute: () => 1,
    });
    const model = scriptedModel({ turns: [{ calls: [{ tool: 'a' }] }, { text: 'Done.' }] });
    await using bed = await openTestBed({ tools: [tool], model, faults: ['a:404'] }, { server: temporalServer() });
    const { calls } = await bed.run();
    expect(calls[0]?.sees).toMatchObject({ error_type: 'not_found' });
    const warnings = bed.log.filter(({ level }) => level === 'warn').map(({ message }) => message);
    expect(warnings[0]).toContain('FAULT INJECTION IS ON');
    expect(warnings.filter((message) => message === 'fault injected')).toHaveLength(1);
  });

  it('ends a run whose model was asked for more than its script', async () => {
    const model = scriptedModel({ turns: [] });
    await using bed = await openTestBed({ tools: [], model }, { server: temporalServer() });
    expect((await bed.run()).result).toMatchObject({ status: 'failed', termination: { reason: 'model_failed' } });
  });
});
