import { expect, test } from 'vitest';
import type { RunLimits } from '../../src/contract/run-limits.js';
import type { TerminationReason } from '../../src/contract/run.js';
import { statusOf, summaryOf } from '../../src/policy/run-end.js';

const limits: RunLimits = { steps: 3, calls: 1, tokens: 10, costUsd: 2, wallTimeMs: 60_000, failures: 5 };

test.each<[TerminationReason, ReturnType<typeof statusOf>, string]>([
  ['answered', 'completed', 'the model gave its answer'],
  ['cancelled', 'cancelled', 'the run was cancelled'],
  ['model_failed', 'failed', 'the model could not answer'],
  ['empty_turns', 'failed', 'the model gave neither an answer nor a call, twice in a row'],
  ['security_violation', 'failed', 'a call was refused as a security violation'],
  ['steps_cap', 'capped', "the run's limit of 3 steps is used up"],
  ['calls_cap', 'capped', "the run's limit of 1 tool call is used up"],
  ['tokens_cap', 'capped', "the run's limit of 10 tokens is used up"],
  ['cost_cap', 'capped', "the run's limit of $2 is used up"],
  ['wall_time_cap', 'capped', "the run's limit of 60 s is used up"],
  ['failures_cap', 'capped', "the run's limit of 5 failed calls is reached"],
  ['no_progress', 'capped', 'the work went on, but what is left to do did not become less'],
  ['loop_detected', 'capped', 'the same call was asked for again and again without anything new'],
])('a run that ends by %s is %s, and says so', (reason, status, summary) => {
  expect([statusOf(reason), summaryOf(reason, limits)]).toEqual([status, summary]);
});
