import { expect, it } from 'vitest';
import type { EffectCount } from '../../../../examples/shop/backend/journal.js';
import { checkEffects } from '../../../../examples/shop/demo/expected-effects.js';
import { defaultKills } from '../../../../examples/shop/demo/kills.js';
import { verdictOn } from '../../../../examples/shop/demo/verdict.js';

const effects: EffectCount[] = (
  [
    ['order_cancelled', '1042'],
    ['return_opened', '1038'],
    ['payment_refunded', '1042'],
    ['payment_refunded', '1038'],
    ['label_printed', '1038'],
    ['message_sent', 'cus_301'],
  ] as const
).map(([kind, subject]) => ({ kind, subject, times: 1, requests: 2 }));

const demo = (counts: EffectCount[], more = {}) => ({
  state: 'completed',
  effects: checkEffects(counts),
  kills: [...defaultKills],
  ...more,
});

it('is satisfied with a task that was done, once, across a kill', () => {
  expect(verdictOn(demo(effects), { isScripted: true })).toEqual({
    ok: true,
    sentences: ['No effect happened twice, although the worker was killed.'],
  });
});

it('never accepts an effect that happened twice, or a run that did not complete', () => {
  const doubled = effects.map((effect) => ({ ...effect, times: effect.kind === 'label_printed' ? 2 : 1 }));
  for (const isScripted of [true, false]) {
    expect(verdictOn(demo(doubled), { isScripted })).toEqual({
      ok: false,
      sentences: ['label_printed 1038 happened 2 times.'],
    });
    expect(verdictOn(demo(effects, { state: 'failed' }), { isScripted })).toMatchObject({
      ok: false,
      sentences: ['The run is failed, not completed.', expect.any(String)],
    });
  }
});

it('leaves what is done of the task to a real model, and to no script', () => {
  const [, ...withoutCancel] = effects;
  const counts = [...withoutCancel, { kind: 'order_cancelled', subject: '1040', times: 1, requests: 1 } as const];
  const short = demo(counts, { kills: [] });
  expect(verdictOn(short, { isScripted: true })).toEqual({
    ok: false,
    sentences: [
      'order_cancelled 1042 did not happen.',
      'order_cancelled 1040 does not belong to the task.',
      'Nothing was killed, because the moment for it did not come.',
      'No effect happened twice.',
    ],
  });
  expect(verdictOn(short, { isScripted: false }).ok).toBe(true);
});
