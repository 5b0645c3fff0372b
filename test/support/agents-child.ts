/**
 * A worker in a process of its own, to be killed: a parent that asks two agents at once, each of which makes two notes.
 * Reads what it needs from `PERDURE_CHILD` (JSON), says `ready` on standard output, and ends in order on SIGTERM.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import { resolveConfig } from '../../src/config/resolve-config.js';
import { scriptedModel } from '../../src/models/scripted-model.js';
import { agentAsTool } from '../../src/tools/agent-tool.js';
import { defineTool } from '../../src/tools/define-tool.js';
import { createWorker } from '../../src/worker.js';
import { serveUntilTold } from './serve-until-told.js';

export interface AgentsChildOptions {
  address: string;
  namespace: string;
  /** Holds the store, and one file for each effect: `<idempotency key>.note`, and one for each start. */
  rootDir: string;
  bundlePath: string;
  noteMs: number;
  /** As `PERDURE_FAULTS`. */
  faults: string;
}

const options = JSON.parse(process.env['PERDURE_CHILD'] ?? '') as AgentsChildOptions;
const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };

/** A backend that honours the key: the second request with the same one changes nothing. */
const note = defineTool({
  name: 'note',
  description: 'Write a note.',
  effect: { idempotent: 'key' },
  input,
  execute: async ({ text }, ctx) => {
    const name = ctx.idempotencyKey.replace(':', '-');
    await writeFile(join(options.rootDir, `${name}.start-${process.pid}`), '');
    await sleep(options.noteMs);
    await writeFile(join(options.rootDir, `${name}.note`), text as string, { flag: 'a' });
    return { noted: text };
  },
});
const writer = agentAsTool({
  name: 'writer',
  description: 'Writes two notes.',
  tools: ['note'],
  model: scriptedModel({
    name: 'writer',
    turns: [
      ({ task }) => ({ calls: [{ tool: 'note', input: { text: `${task} 1` } }] }),
      ({ task }) => ({ calls: [{ tool: 'note', input: { text: `${task} 2` } }] }),
      ({ task }) => ({ text: `wrote ${task}` }),
    ],
  }),
});
const lead = scriptedModel({
  name: 'lead',
  turns: [{ calls: ['a', 'b'].map((task) => ({ tool: 'writer', input: { task } })) }, { text: 'both wrote' }],
});

const connection = await NativeConnection.connect({ address: options.address });
const worker = await createWorker({
  config: await resolveConfig(
    { tools: [note, writer], model: lead, store: { path: 'store.db' }, worker: { heartbeatTimeoutMs: '2s' } },
    { rootDir: options.rootDir, env: { PERDURE_FAULTS: options.faults } },
  ),
  connection,
  namespace: options.namespace,
  temporal: { workflowBundle: { codePath: options.bundlePath } },
});
await serveUntilTold(worker, connection);
