/** `npm run crash` in small: 30 kills, from a seed that is printed and taken from PERDURE_SEED. */
import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { mostHealMs, runCampaign } from './harness/campaign.js';
import { describeCampaign } from './harness/report.js';
import '../support/quiet-runtime.js';

it('30 processes killed at random: no law is broken', { timeout: 420_000 }, async () => {
  const seed = Number(process.env['PERDURE_SEED'] ?? randomInt(1_000_000));
  const report = await runCampaign({ seed, kills: 30 });
  console.log(describeCampaign(report));
  expect(report.violations).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(30);
  expect(report.healMs).toBeLessThan(mostHealMs);
});
