import { expect, it } from 'vitest';
import type { RetriedRequest } from '../../src/contract/seen-requests.js';
import { readTurnAttemptKey, turnAttemptKey } from '../../src/policy/turn-attempt-key.js';
import { FailureStats } from '../../src/stats/failure-stats.js';
import { RetryOwners } from '../../src/stats/retry-owners.js';
import type { AttemptRecord } from '../../src/store/records.js';
import { callOf } from './sample-calls.js';

const retried = (host: string, attempts: number, client?: string): RetriedRequest => ({
  ...{ method: 'POST', host, path: '/v1/charges', attempts, retries: attempts - 1, after: [503] },
  ...(client !== undefined && { client }),
});

function started(start: number, requests?: AttemptRecord['requests'], key = 'k'): AttemptRecord {
  return { key, start, worker: 'w', startedAtMs: 0, ...(requests && { requests }) };
}

it('names the client, the host and the call in which most was seen', () => {
  const owners = new RetryOwners();
  const multiplied = { sent: 3, retried: [retried('api.stripe.com', 3, 'stripe')] };
  owners.addCall(callOf({ callId: 'c1.0', starts: 1 }), [started(1, multiplied)]);
  owners.addCall(
    callOf({ callId: 'c2.0', starts: 3 }),
    [1, 2, 3].map((start) => started(start, multiplied)),
  );
  owners.addCall(callOf({ callId: 'c3.0', tool: 'look', starts: 3 }), [
    started(1, { sent: 7 }),
    started(2),
    started(3),
  ]);
  expect(owners.figures()).toEqual([
    {
      ...{ kind: 'tool', name: 'refund', host: 'api.stripe.com', client: 'stripe', starts: 4, mostInOneStart: 3 },
      worst: { runKey: 'r1', callId: 'c2.0', starts: 3, seen: 9 },
      remedy: 'new Stripe(key, { maxNetworkRetries: 0 })',
    },
  ]);
});

it('keeps two backends of one tool apart', () => {
  const owners = new RetryOwners();
  owners.addCall(callOf({ callId: 'c1.0' }), [started(1, { sent: 5, retried: [retried('a', 2), retried('b', 3)] })]);
  expect(owners.figures().map(({ host, mostInOneStart }) => [host, mostInOneStart])).toEqual([
    ['a', 2],
    ['b', 3],
  ]);
});

it('believes a backend that counts more attempts than were made', () => {
  const owners = new RetryOwners();
  owners.addCall(callOf({ callId: 'c1.0' }), [started(1, { sent: 0, reported: 1 })]);
  expect(owners.figures()).toEqual([]);
  owners.addCall(callOf({ callId: 'c2.0' }), [started(1, { sent: 0, reported: 3 })]);
  expect(owners.figures()).toMatchObject([{ name: 'refund', mostInOneStart: 3, worst: { starts: 1, seen: 3 } }]);
  expect(owners.figures()[0]).not.toHaveProperty('host');
});

it('counts the starts of a model turn that nobody recorded as one attempt each', () => {
  const owners = new RetryOwners();
  const key = turnAttemptKey({ runKey: 'run/1 %', step: 4, take: 0 }, 'openai:gpt-5/x');
  expect(readTurnAttemptKey(key)).toEqual({ runKey: 'run/1 %', step: 4, model: 'openai:gpt-5/x' });
  // The first start met no retries of its client, so it has no record.
  owners.addTurns([started(2, { sent: 2, retried: [retried('api.openai.com', 2, 'openai')] }, key)]);
  expect(owners.figures()).toMatchObject([
    { kind: 'model', name: 'openai:gpt-5/x', worst: { runKey: 'run/1 %', step: 4, starts: 2, seen: 3 } },
  ]);
});

it('figures of one tool leave out the others', () => {
  const stats = new FailureStats({ tool: 'look' });
  stats.add(callOf({ callId: 'c1.0' }), [started(1, { sent: 2, retried: [retried('a', 2)] })]);
  stats.add(callOf({ callId: 'c2.0', tool: 'look' }), [started(1, { sent: 1 })]);
  const { hiddenRetries, all } = stats.figures();
  expect(hiddenRetries).toEqual([]);
  expect([all.attemptsSeen, all.startsSeen]).toEqual([1, 1]);
});
