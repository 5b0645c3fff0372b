import { expect, it } from 'vitest';
import { checkEffects } from '../../../../examples/shop/demo/expected-effects.js';
import { renderReport } from '../../../../examples/shop/demo/report.js';
import { wrap, type Style } from '../../../../examples/shop/demo/text.js';

const plain: Style = { columns: 80, paint: (_format, text) => text };

it('lays steps, troubles, effects and the answer out in 80 columns', () => {
  const report = renderReport(
    {
      steps: [
        {
          step: 1,
          text: 'I look the customer up.',
          calls: [
            {
              callId: 'c1.1',
              tool: 'find_customer',
              arguments: { email: 'maya.lindqvist@example.com', because: 'the task says so and this is long' },
              state: 'succeeded',
              starts: 2,
              elapsedMs: 1234,
              effect: 'read',
              attempts: [
                {
                  start: 1,
                  startedAtMs: 0,
                  endedAtMs: 20,
                  failure: { error_type: 'rate_limit', upstream_status: 429 },
                },
                { start: 2, startedAtMs: 1120, endedAtMs: 1234 },
              ],
            },
          ],
        },
        { step: 2, text: 'Dear Maya', calls: [] },
      ],
      answer: 'Dear Maya,\nall is done.',
      effects: checkEffects([
        { kind: 'order_cancelled', subject: '1042', times: 1, requests: 2 },
        { kind: 'label_printed', subject: '1038', times: 2, requests: 2 },
      ]).filter(({ times }) => times > 0),
      kills: ['The worker was killed.'],
    },
    plain,
  );
  expect(report).toBe(`The steps
   1  I look the customer up.
      ✓ find_customer {"email":"maya.lindqvist@example.com","b…  1.2 s, 2 starts
   2  The final answer, see below.

What failed, and how it was handled
  c1.1 find_customer  rate_limit (HTTP 429)
                      → asked again after 1.1 s, as the shop asked
  The worker was killed.

What happened in the shop (read from its database)
  order_cancelled  1042  exactly once, asked for twice
  label_printed    1038  TWICE, asked for twice

The final answer
  Dear Maya,
  all is done.`);
  for (const line of report.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});

it('breaks lines between words, and keeps a word that is too long', () => {
  expect(wrap('one two three', 8)).toEqual(['one two', 'three']);
  expect(wrap('abcdefghij kl', 4)).toEqual(['abcdefghij', 'kl']);
});
