import type { CheckedEffect } from './expected-effects.ts';
import type { Kill } from './kills.ts';

export interface Verdict {
  ok: boolean;
  /** What is to be said of it, a sentence each. */
  sentences: string[];
}

/**
 * Whether a demo went as it must. An effect that happened twice never may be; what was left undone, or done besides the
 * task, is a real model's own affair and the script's mistake.
 */
export function verdictOn(
  { state, effects, kills }: { state: string; effects: readonly CheckedEffect[]; kills: readonly Kill[] },
  { isScripted }: { isScripted: boolean },
): Verdict {
  const doubled = effects.filter(({ times }) => times > 1);
  const otherwise = effects.filter(({ right, times }) => !right && times < 2);
  const wrong = [
    ...(state === 'completed' ? [] : [`The run is ${state}, not completed.`]),
    ...doubled.map(({ kind, subject, times }) => `${kind} ${subject} happened ${times} times.`),
  ];
  const different = [
    ...otherwise.map(({ kind, subject, times }) =>
      times === 0 ? `${kind} ${subject} did not happen.` : `${kind} ${subject} does not belong to the task.`,
    ),
    ...(kills.length > 0 ? [] : ['Nothing was killed, because the moment for it did not come.']),
  ];
  const ok = wrong.length === 0 && (different.length === 0 || !isScripted);
  const killed = [...new Set(kills.map(({ what }) => what))].join(' and the ');
  const praise =
    killed === '' ? 'No effect happened twice.' : `No effect happened twice, although the ${killed} was killed.`;
  const remarks = isScripted ? different : different.map((sentence) => `${sentence} That was the model's choice.`);
  return { ok, sentences: [...wrong, ...remarks, ...(doubled.length === 0 ? [praise] : [])] };
}
