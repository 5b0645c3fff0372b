/** A count in a sentence: `1 step`, `2 steps`, `1,204 tokens`. `plural` where the noun takes no s. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? noun : plural}`;
}
