/** The harness is worth what it finds: each bug that is planted breaks the law that it should, and sound code breaks none. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDevServer, type DevServer } from '../../src/server/dev-server.js';
import { plantEdits, plantedBugs, scenarios } from './harness/planted-bugs.js';
import { CrashBench, workflowBundle } from './support/crash-bench.js';
import '../support/quiet-runtime.js';

let rootDir: string;
let server: DevServer;
beforeAll(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'perdure-planted-server-'));
  server = await startDevServer({ rootDir, dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 30 } });
});
afterAll(async () => {
  await server.stop();
  await rm(rootDir, { recursive: true, force: true });
});

describe.concurrent('a planted bug is caught', { timeout: 150_000 }, () => {
  it.each(plantedBugs)('$name: $law', async (bug) => {
    await using planted = await plantEdits(bug.edits);
    await using bench = await CrashBench.open({ server, sources: planted.sources });
    const bundlePath = await workflowBundle(...(bug.inWorkflow ? [planted.sources] : []));
    const broken = await scenarios[bug.scenario]({ bench, bundlePath });
    expect(broken.map(({ law }) => law)).toContain(bug.law);
  });
});

describe.concurrent('without a bug nothing is found', { timeout: 150_000 }, () => {
  it.each(Object.entries(scenarios))('in %s', async (_name, scenario) => {
    await using bench = await CrashBench.open({ server });
    expect(await scenario({ bench, bundlePath: await workflowBundle() })).toEqual([]);
  });
});
