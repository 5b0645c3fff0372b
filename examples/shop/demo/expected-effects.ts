import type { EffectCount, EffectKind } from '../backend/journal.ts';

/** What the demo's task comes to in the shop, each of it once. */
const expected: { kind: EffectKind; subject: string }[] = [
  { kind: 'order_cancelled', subject: '1042' },
  { kind: 'return_opened', subject: '1038' },
  { kind: 'payment_refunded', subject: '1042' },
  { kind: 'payment_refunded', subject: '1038' },
  { kind: 'label_printed', subject: '1038' },
  { kind: 'message_sent', subject: 'cus_301' },
];

export interface CheckedEffect extends EffectCount {
  /** It belongs to the task. */
  expected: boolean;
  /** It happened as often as it must: once where it belongs to the task, else not at all. */
  right: boolean;
}

/** Compares what happened with the task; effects that did not happen are listed with 0. */
export function checkEffects(counts: readonly EffectCount[]): CheckedEffect[] {
  const isSame = (a: { kind: string; subject: string }, b: { kind: string; subject: string }) =>
    a.kind === b.kind && a.subject === b.subject;
  const wanted = expected.map((effect) => {
    const count = counts.find((one) => isSame(one, effect)) ?? { ...effect, times: 0, requests: 0 };
    return { ...count, expected: true, right: count.times === 1 };
  });
  const others = counts
    .filter((count) => !expected.some((effect) => isSame(count, effect)))
    .map((count) => ({ ...count, expected: false, right: false }));
  return [...wanted, ...others];
}
