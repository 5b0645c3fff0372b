/** `npm run crash -- [--kills N] [--seed S]`: kills until N processes are dead, and ends with 1 where a law was broken. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.js';
import { describeCampaign } from './report.js';
import '../../support/quiet-runtime.js';

function count(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`--${name}: expected a whole number, got ${JSON.stringify(text)}`);
  process.exit(2);
}

const { values } = parseArgs({ options: { kills: { type: 'string' }, seed: { type: 'string' } } });
const kills = count('kills', values.kills ?? '100');
const seed = count('seed', values.seed ?? String(randomInt(1_000_000)));
console.log(`${kills} kills, seed ${seed}`);
const report = await runCampaign({ seed, kills, progress: (line) => console.log(line) });
console.log(`\n${describeCampaign(report)}`);
process.exitCode = report.violations.length > 0 ? 1 : 0;
