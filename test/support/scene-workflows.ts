/** Workflows of a user's own beside perdure's, as `workflows:` of a configuration names them. */
import { toolExecutor, type Outcome } from '../../src/workflows/index.js';

export * from '../../src/workflows/index.js';

/** Asks for many calls with large arguments in one step, and says how each ended and how many bytes its tool counted. */
export async function manyLargeCalls(input: { calls: number; bytes: number }): Promise<unknown[]> {
  const tools = await toolExecutor();
  const text = 'x'.repeat(input.bytes);
  const outcomes = await tools.callAll(
    Array.from({ length: input.calls }, (_, index) => ({ tool: 'counts', args: { text: `${index} ${text}` } })),
  );
  return outcomes.map(told);
}

function told(outcome: Outcome): unknown {
  if (outcome.status === 'succeeded' && 'inline' in outcome.result) return outcome.result.inline;
  return 'failure' in outcome ? outcome.failure.class : outcome.status;
}
