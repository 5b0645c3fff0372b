/** `npm run soak`; what it shows is in docs/soak.md. Ends with 1 where something is wrong. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { failureClassNames } from '../../src/policy/failure-classes.js';
import { startDevServer } from '../../src/server/dev-server.js';
import { workflowBundleFile } from '../support/workflow-bundle.js';
import { describeReport } from './judge.js';
import { callsPerRun, notTheBackends } from './soak-plan.js';
import { soak } from './soak.js';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '2000' },
    workers: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
  },
});

function whole(option: string, written: string): number {
  const number = Number(written);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new Error(`--${option}: expected a whole number above 0, got ${written}`);
}

const calls = Math.ceil(whole('calls', values.calls) / callsPerRun) * callsPerRun;
const rootDir = await mkdtemp(join(tmpdir(), 'perdure-soak-server-'));
const server = await startDevServer({ rootDir });
try {
  await using bundle = await workflowBundleFile();
  const report = await soak({
    server: { ...server, workflowBundle: bundle.path },
    seed: whole('seed', values.seed),
    calls,
    workers: whole('workers', values.workers),
    onProgress: (ended, of) => {
      if (process.stderr.isTTY || ended % 10 === 0) process.stderr.write(`${ended} of ${of} runs\n`);
    },
  });
  const missing = failureClassNames.filter(
    (failureClass) => !report.classes.has(failureClass) && !notTheBackends.some((other) => other === failureClass),
  );
  if (missing.length > 0) report.problems.push(`classes that did not occur: ${missing.join(', ')}`);
  console.log(describeReport(report));
  if (report.problems.length > 0) process.exitCode = 1;
} finally {
  await server.stop();
  await rm(rootDir, { recursive: true, force: true });
}
