import { expect, it } from 'vitest';
import type { EffectCount } from '../../../../examples/shop/backend/journal.js';
import { checkEffects } from '../../../../examples/shop/demo/expected-effects.js';

const once = (kind: EffectCount['kind'], subject: string): EffectCount => ({ kind, subject, times: 1, requests: 1 });

const allOfTheTask = [
  once('order_cancelled', '1042'),
  once('return_opened', '1038'),
  once('payment_refunded', '1042'),
  once('payment_refunded', '1038'),
  once('label_printed', '1038'),
  once('message_sent', 'cus_301'),
];

it('is right where each effect of the task happened once, however often it was asked for', () => {
  const counts = allOfTheTask.map((count) => ({ ...count, requests: 3 }));
  expect(checkEffects(counts)).toEqual(counts.map((count) => ({ ...count, expected: true, right: true })));
});

it('is wrong where an effect happened twice, never, or does not belong to the task', () => {
  const [cancelled, ...others] = allOfTheTask as [EffectCount, ...EffectCount[]];
  const withoutLabel = others.filter(({ kind }) => kind !== 'label_printed');
  const checked = checkEffects([{ ...cancelled, times: 2 }, ...withoutLabel, once('order_cancelled', '1040')]);
  expect(checked.filter(({ right }) => !right)).toEqual([
    { kind: 'order_cancelled', subject: '1042', times: 2, requests: 1, expected: true, right: false },
    { kind: 'label_printed', subject: '1038', times: 0, requests: 0, expected: true, right: false },
    { kind: 'order_cancelled', subject: '1040', times: 1, requests: 1, expected: false, right: false },
  ]);
});
