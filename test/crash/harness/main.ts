/**
 * `npm run crash -- [--kills N] [--seed S]`: kills until N processes are dead, and ends with 1 where a law was broken.
 * `npm run crash -- --stalls N [--seed S]`: stalls N calls of each kind before their send, and counts what comes of it.
 */
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Runtime } from '@temporalio/worker';
import { startDevServer } from '../../../src/server/dev-server.js';
import { runCampaign } from './campaign.js';
import { describeCampaign } from './report.js';
import { describeStalls, measureStalls } from './stalls.js';
import '../../support/quiet-runtime.js';

function count(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`--${name}: expected a whole number, got ${JSON.stringify(text)}`);
  process.exit(2);
}

function progress(line: string): void {
  console.log(line);
}

async function kill(kills: number, seed: number): Promise<boolean> {
  console.log(`${kills} kills, seed ${seed}`);
  const report = await runCampaign({ seed, kills, progress });
  console.log(`\n${describeCampaign(report)}`);
  return report.violations.length === 0;
}

async function stall(stalls: number, seed: number): Promise<boolean> {
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-crash-stalls-'));
  const server = await startDevServer({ rootDir });
  try {
    const figures = await measureStalls({ stalls, seed, server, progress });
    console.log(`\n${describeStalls(figures, seed)}`);
    return figures.every(({ effectsTwice }) => effectsTwice === 0);
  } finally {
    await server.stop();
    await rm(rootDir, { recursive: true, force: true });
    // The SDK's own ends with the last worker of this process, and here there was none.
    await Runtime.instance().shutdown();
  }
}

const options = { kills: { type: 'string' }, seed: { type: 'string' }, stalls: { type: 'string' } } as const;
const { values } = parseArgs({ options });
const seed = count('seed', values.seed ?? String(randomInt(1_000_000)));
const isSound =
  values.stalls === undefined
    ? await kill(count('kills', values.kills ?? '100'), seed)
    : await stall(count('stalls', values.stalls), seed);
process.exitCode = isSound ? 0 : 1;
