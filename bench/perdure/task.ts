/** The task of a run: which tool its model calls, and how often. */
export function taskOf(tool: 'look_up' | 'charge' | 'unavailable', steps: number): string {
  return `${tool} ${steps}`;
}
