/** Under which key the starts of a model turn are recorded, where anything about them is. */
export function turnAttemptKey(
  { runKey, step, take }: { runKey: string; step: number; take: number },
  model: string,
): string {
  return `${turnAttemptPrefix(runKey)}${String(step)}.${String(take)}/${model}`;
}

export function turnAttemptPrefix(runKey?: string): string {
  return runKey === undefined ? 'turn/' : `turn/${encodeURIComponent(runKey)}/`;
}

/** Whose start it was. */
export function readTurnAttemptKey(key: string): { runKey: string; step: number; model: string } {
  const [, runKey = '', place = '', ...model] = key.split('/');
  return { runKey: decodeURIComponent(runKey), step: Number.parseInt(place, 10), model: model.join('/') };
}
