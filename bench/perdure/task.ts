/** The task of a run: which tool its model calls, and how often. */
export function taskOf(tool: 'look_up' | 'charge' | 'slow' | 'throttled' | 'pay', steps: number): string {
  return `${tool} ${steps}`;
}
