import { emphasisText } from '../policy/emphasis.js';
import { failureProtocol } from '../policy/failure-protocol.js';

/** The system text of one model turn: the user's instructions, how to read failures, and what this turn needs besides. */
export function systemPrompt(options: {
  instructions: string;
  emphasis?: { tool: string; failures: number }[];
  finalTurn?: { reason: string };
}): string {
  const parts = [options.instructions, failureProtocol];
  if (options.emphasis && options.emphasis.length > 0) parts.push(emphasisText(options.emphasis));
  if (options.finalTurn) {
    parts.push(
      `This is your last turn: ${options.finalTurn.reason}. No tools are available any more. Write your final answer now ` +
        'from what you know. Say plainly what was done, what was not done, and what could not be found out.',
    );
  }
  return parts.filter((part) => part !== '').join('\n\n');
}
