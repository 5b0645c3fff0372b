/** Case B01 of cases.jsonl (test/cases/README.md): two workers, their guards and the shared state, on a clock of the test's. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ClassifiedFailure, FailureClass } from '../../src/contract/failure.js';
import { Breakers } from '../../src/guards/breakers.js';
import { CallGuards } from '../../src/guards/call-guards.js';
import { Limiters } from '../../src/guards/limiters.js';
import { classifyHttpAnswer } from '../../src/policy/classify-http.js';
import { failureClasses, failureClassNames } from '../../src/policy/failure-classes.js';
import { describeFailure } from '../../src/policy/model-message.js';
import { toolDefaults } from '../../src/tools/tool-policy.js';
import { MemoryShared } from '../guards/memory-shared.js';
import { manifestTool } from '../policy/fixtures.js';

const sequence = readFileSync(new URL('./cases.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { id: string; input: { sequence: string[]; half_open_probes: number } })
  .find(({ id }) => id === 'B01')?.input;

const { breaker, retryBudget } = toolDefaults;
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Workers that share a store, and calls of one tool on them. */
class Fleet {
  readonly shared = new MemoryShared();
  readonly #workers = Array.from({ length: 2 }, () => ({
    shared: this.shared,
    breakers: new Breakers(this.shared, { monotonicMs: () => this.shared.nowMs }),
    limiters: new Limiters(this.shared, () => this.shared.nowMs),
  }));
  #calls = 0;

  /** One attempt of a new call, on the next worker in turn. */
  async attempt(breakerKey?: string): Promise<{ guards: CallGuards; open: ClassifiedFailure | undefined }> {
    this.#calls += 1;
    const worker = this.#workers[this.#calls % 2];
    if (!worker) throw new Error('there is no such worker');
    const guards = new CallGuards(
      worker,
      {
        tool: 'search',
        policy: { breaker, limiter: null, retryBudget },
        key: `k${String(this.#calls)}`,
        breakerKey,
        lockKey: undefined,
        tokens: 0,
      },
      { leaseMs: 10_000, random: () => 0, log: quiet },
    );
    return { guards, open: (await guards.enter(new AbortController().signal))?.failure };
  }

  /** A call with one attempt that the backend answers with this status; `open` where it was not made. */
  async call(status: number, breakerKey?: string): Promise<'open' | 'made'> {
    const { guards, open } = await this.attempt(breakerKey);
    if (open) return 'open';
    await end(guards, status);
    return 'made';
  }
}

async function end(guards: CallGuards, status: number): Promise<void> {
  guards.begin();
  const failure = classifyHttpAnswer({ status, headers: {}, body: undefined }, 0);
  if (failure) {
    await guards.attemptFailed(failure);
    await guards.callFailed(failure);
  } else await guards.succeeded(null);
  await guards.leave();
}

/** A fleet whose breaker is open, and about which every worker has heard. */
async function opened(): Promise<Fleet> {
  const fleet = new Fleet();
  for (let number = 0; number < 5; number += 1) await fleet.call(503);
  fleet.shared.nowMs += 1_000;
  return fleet;
}

describe('B01: the states of a breaker', () => {
  test('is the case that these tests are about', () => {
    expect(sequence?.half_open_probes).toBe(1);
    expect(sequence?.sequence).toHaveLength(5);
  });

  test('five failed calls open it, for both workers within a second', async () => {
    const fleet = new Fleet();
    for (let number = 0; number < 5; number += 1) expect(await fleet.call(503)).toBe('made');
    fleet.shared.nowMs += 1_000;
    expect([await fleet.call(200), await fleet.call(200)]).toEqual(['open', 'open']);
  });

  test('ten failed attempts open it, though no call has ended', async () => {
    const fleet = new Fleet();
    const failure: ClassifiedFailure = { class: 'external_service_unavailable', effectState: 'unknown' };
    const rests: number[] = [];
    for (let number = 0; number < 10; number += 1) {
      const { guards } = await fleet.attempt();
      rests.push(await guards.attemptFailed(failure));
      await guards.leave();
    }
    expect(rests).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 30_000]);
  });

  test('while it is open the model is told that the call was not made, and until when', async () => {
    const fleet = await opened();
    const { open } = await fleet.attempt();
    expect(open).toEqual({ class: 'tool_temporarily_disabled', effectState: 'none', retryAfterMs: 29_000 });
    const told = describeFailure(open as ClassifiedFailure, {
      toolName: 'search',
      attempts: 0,
      tool: manifestTool({ name: 'search', alternatives: ['lookup'] }),
    });
    expect(told).toMatchObject({
      retryable: true,
      retryAfterMs: 29_000,
      effectState: 'none',
      alternatives: ['lookup'],
    });
    expect(told.message).toContain('29 seconds, so the call was not made');
  });

  test('after the cool-down one probe goes out, whatever the number of callers', async () => {
    const fleet = await opened();
    fleet.shared.nowMs += 29_000;
    const callers = await Promise.all(Array.from({ length: 20 }, () => fleet.attempt()));
    expect(callers.filter(({ open }) => !open)).toHaveLength(1);
    for (const { open } of callers) if (open) expect(open.retryAfterMs).toBe(1_000);
    await Promise.all(callers.map(({ guards }) => guards.leave()));
  });

  test.each([422, 400, 404, 401, 429, 200])('a probe that is answered with %i closes it', async (status) => {
    const fleet = await opened();
    fleet.shared.nowMs += 29_000;
    expect(await fleet.call(status)).toBe('made');
    fleet.shared.nowMs += 1_000;
    expect([await fleet.call(200), await fleet.call(200)]).toEqual(['made', 'made']);
  });

  test('a probe that fails opens it again for a whole cool-down', async () => {
    const fleet = await opened();
    fleet.shared.nowMs += 29_000;
    await fleet.call(503);
    fleet.shared.nowMs += 29_999;
    expect(await fleet.call(200)).toBe('open');
    fleet.shared.nowMs += 1;
    expect(await fleet.call(200)).toBe('made');
  });

  test('a probe that is never sent (the claim was busy, the run was cancelled) makes room for the next', async () => {
    const fleet = await opened();
    fleet.shared.nowMs += 29_000;
    const { guards, open } = await fleet.attempt();
    expect(open).toBeUndefined();
    await guards.leave();
    fleet.shared.nowMs += 1_000;
    expect(await fleet.call(200)).toBe('made');
  });

  test('six simultaneous failures open it once, and half-open comes when it should', async () => {
    const fleet = new Fleet();
    const started = await Promise.all(Array.from({ length: 6 }, () => fleet.attempt()));
    expect(started.every(({ open }) => !open)).toBe(true);
    await Promise.all(started.map(({ guards }) => end(guards, 503)));
    fleet.shared.nowMs += 29_999;
    expect(await fleet.call(200)).toBe('open');
    fleet.shared.nowMs += 1;
    expect(await fleet.call(200)).toBe('made');
  });

  test('each breakerKey has a breaker of its own', async () => {
    const fleet = new Fleet();
    for (let number = 0; number < 5; number += 1) await fleet.call(503, 'eu');
    fleet.shared.nowMs += 1_000;
    expect([await fleet.call(200, 'eu'), await fleet.call(200, 'us'), await fleet.call(200)]).toEqual([
      'open',
      'made',
      'made',
    ]);
  });

  test('a rate limit never opens it', async () => {
    const fleet = new Fleet();
    for (let number = 0; number < 50; number += 1) expect(await fleet.call(429)).toBe('made');
  });

  test.each(failureClassNames)('%s counts as the failure table says', async (failureClass: FailureClass) => {
    const fleet = new Fleet();
    let restMs = 0;
    for (let number = 0; number < 10; number += 1) {
      const { guards } = await fleet.attempt();
      restMs = await guards.attemptFailed({ class: failureClass, effectState: 'none' });
      await guards.leave();
    }
    expect(restMs > 0).toBe(failureClasses[failureClass].breaker === 'counts');
  });
});
