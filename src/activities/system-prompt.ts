import type { Nudge } from '../contract/activities.js';
import { emphasisText } from '../policy/emphasis.js';
import { failureProtocol } from '../policy/failure-protocol.js';

const nudges: Record<Nudge, string> = {
  empty:
    'Your last reply was empty: it held neither text nor a tool call. Call a tool, or write your answer for the user.',
  textual_call:
    'Your last reply was a tool call written as text, which nobody runs. Make the call through the tool interface, or ' +
    'write your answer for the user in words.',
};

/** The system text of one model turn: the user's instructions, how to read failures, and what this turn needs besides. */
export function systemPrompt(options: {
  instructions: string;
  emphasis?: { tool: string; failures: number }[];
  nudge?: Nudge;
  finalTurn?: { reason: string };
}): string {
  const parts = [options.instructions, failureProtocol];
  if (options.emphasis && options.emphasis.length > 0) parts.push(emphasisText(options.emphasis));
  if (options.nudge) parts.push(nudges[options.nudge]);
  if (options.finalTurn) {
    parts.push(
      `This is your last turn: ${options.finalTurn.reason}. No tools are available any more. Write your final answer now ` +
        'from what you know. Say plainly what was done, what was not done, and what could not be found out.',
    );
  }
  return parts.filter((part) => part !== '').join('\n\n');
}
