import { ApplicationFailure, continueAsNew, sleep } from '@temporalio/workflow';
import type { AgentRunInput, AgentRunResult } from '../../../src/contract/run.js';

const counters = { steps: 1, calls: 0, inputTokens: 1, outputTokens: 1, costUsd: 0, failures: 0 };

/** Ends as its task says. */
export async function agentRun(input: AgentRunInput): Promise<AgentRunResult> {
  switch (input.task) {
    case 'complete':
      return { status: 'completed', answer: 'yes', termination: { reason: 'answered', summary: '' }, counters };
    case 'continue':
      return await continueAsNew<typeof agentRun>({ ...input, task: 'complete' });
    case 'fail': {
      const termination = { reason: 'model_failed' as const, summary: 'no answer' };
      const result: AgentRunResult = { status: 'failed', answer: '', termination, counters };
      throw ApplicationFailure.create({
        type: 'RunFailed',
        nonRetryable: true,
        message: 'no answer',
        details: [result],
      });
    }
    case 'misuse':
      throw ApplicationFailure.nonRetryable('cron is not for runs', 'ConfigError');
    default:
      await sleep('1 hour');
      throw new Error('nobody waits an hour');
  }
}
