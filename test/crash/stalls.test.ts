/** The stated exception: `npm run crash -- --stalls 20` in small. */
import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { temporalServer } from '../support/temporal-server.js';
import { describeStalls, measureStalls } from './harness/stalls.js';
import '../support/quiet-runtime.js';

it('a process that stalls between its last check and its send: there may be a late effect, never a second one', async () => {
  const seed = Number(process.env['PERDURE_SEED'] ?? randomInt(1_000_000));
  const figures = await measureStalls({ stalls: 2, seed, server: temporalServer() });
  console.log(describeStalls(figures, seed));
  expect(figures.map(({ send, ended, effectsTwice }) => ({ tool: send.tool, ended, effectsTwice }))).toEqual([
    { tool: 'once', ended: { outcome_unknown: 2 }, effectsTwice: 0 },
    { tool: 'once', ended: { outcome_unknown: 2 }, effectsTwice: 0 },
    { tool: 'once_fenced', ended: { succeeded: 2 }, effectsTwice: 0 },
    { tool: 'keyed', ended: { succeeded: 2 }, effectsTwice: 0 },
  ]);
  // The backend itself keeps off what comes late: it was fenced, or it knows the key.
  expect(figures.filter(({ send }) => send.tool !== 'once').map(({ lateEffects }) => lateEffects)).toEqual([0, 0]);
});
