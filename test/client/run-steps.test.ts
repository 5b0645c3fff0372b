import { describe, expect, it } from 'vitest';
import type { Failure } from '../../src/contract/failure.js';
import type { CallRecord } from '../../src/store/records.js';
import type { Store } from '../../src/store/store.js';
import type { StoredTurn } from '../../src/client/run-description.js';
import { RunSteps } from '../../src/client/run-steps.js';

function turn(step: number, from: string, to: string): StoredTurn {
  const call = {
    runKey: 'r',
    callId: `c${step}.0`,
    tool: 'look',
    key: `k${step}`,
    digest: 'd',
    arguments: { inline: {} },
  };
  return {
    turn: { runKey: 'r', step, head: from, settings: 's', take: 0 },
    result: {
      head: to,
      calls: [{ status: 'ready', call }],
      usage: { inputTokens: 1, outputTokens: 1, costUsd: 0 },
      text: '',
      empty: false,
    },
    atMs: step,
  };
}

/** With a call that was not run. */
function lastWords(step: number, from: string, to: string): StoredTurn {
  const last = turn(step, from, to);
  return { ...last, result: { ...last.result, finalTurn: true } };
}

function record(step: number, ended: boolean): CallRecord {
  return {
    row: {
      key: `k${step}`,
      runKey: 'r',
      callId: `c${step}.0`,
      tool: 'look',
      digest: 'd',
      effect: { kind: 'read' },
      state: ended ? 'done' : 'started',
      leaseUntilMs: 0,
      begun: !ended,
      starts: 1,
      spentMs: 0,
      mayHaveHappened: false,
      updatedAtMs: 50,
      ...(ended && {
        outcome: {
          callId: `c${step}.0`,
          tool: 'look',
          key: `k${step}`,
          attempts: 1,
          elapsedMs: 5,
          status: 'succeeded',
          result: { inline: 1 },
        },
      }),
    },
    attempts: [],
  };
}

/** A store that notes how much it is asked for. */
function countingStore(turns: StoredTurn[], calls: Map<string, CallRecord>) {
  const asked: string[] = [];
  const store: Pick<Store, 'listTurns' | 'listCalls' | 'getCall'> = {
    listTurns(_run, after = 0) {
      asked.push(`turns after ${after}`);
      return Promise.resolve(turns.slice(after));
    },
    listCalls() {
      asked.push('all calls');
      return Promise.resolve([...calls.values()]);
    },
    getCall(key) {
      asked.push(`call ${key}`);
      return Promise.resolve(calls.get(key));
    },
  };
  return { asked, store: store as Store };
}

describe('looking at a run again and again', () => {
  it('reads new turns and open calls only, however long the run is', async () => {
    const turns = Array.from({ length: 100 }, (_, n) => turn(n + 1, `n${n}`, `n${n + 1}`));
    const calls = new Map(turns.map((_, n) => [`k${n + 1}`, record(n + 1, n < 99)]));
    const { asked, store } = countingStore(turns, calls);
    const steps = new RunSteps(store, 'r');
    expect((await steps.upTo('n100')).map(({ calls: [call] }) => call?.state)).toEqual([
      ...Array.from({ length: 99 }, () => 'succeeded'),
      'running',
    ]);
    await steps.upTo('n100');
    calls.set('k100', record(100, true));
    turns.push(turn(101, 'n100', 'n101'));
    const after = await steps.upTo('n101');
    expect(after.at(-2)?.calls[0]).toMatchObject({ state: 'succeeded', endedAtMs: 50 });
    expect(after.at(-1)?.calls[0]).toMatchObject({ state: 'waiting' });
    expect(asked).toEqual([
      'turns after 0',
      'all calls',
      'turns after 100',
      'call k100',
      'turns after 100',
      'call k100',
      'call k101',
    ]);
  });

  it.each([
    ['the last step', []],
    ['the step before the last words at a limit', [lastWords(3, 'b', 'c')]],
  ])('reads a failed call of %s anew, because a retry may give it another outcome', async (_, after) => {
    const failed = record(2, true);
    const { outcome } = failed.row;
    if (!outcome) throw new Error('the record has an outcome');
    const failure: Failure = {
      class: 'auth_failed',
      code: 'AUTH_INVALID_001',
      effectState: 'none',
      message: 'no',
      suggestedAction: 'sign in',
      retryable: false,
    };
    const { callId, tool, key, attempts, elapsedMs } = outcome;
    failed.row.outcome = { callId, tool, key, attempts, elapsedMs, status: 'failed', failure };
    const turns = [turn(1, 'root', 'a'), turn(2, 'a', 'b'), ...after];
    const head = turns.at(-1)!.result.head;
    const calls = new Map([
      ['k1', record(1, true)],
      ['k2', failed],
      ['k3', record(3, true)],
    ]);
    const { asked, store } = countingStore(turns, calls);
    const steps = new RunSteps(store, 'r');
    const stateNow = async () => (await steps.upTo(head))[1]?.calls[0]?.state;
    expect(await stateNow()).toBe('failed');
    calls.set('k2', record(2, true));
    expect(await stateNow()).toBe('succeeded');
    expect(await stateNow()).toBe('succeeded');
    expect(asked.filter((question) => question.startsWith('call'))).toEqual(['call k2']);
  });

  it('follows a reset to another way', async () => {
    const turns = [turn(1, 'root', 'a'), turn(2, 'a', 'b')];
    const { store } = countingStore(turns, new Map());
    const steps = new RunSteps(store, 'r');
    expect((await steps.upTo('b')).map(({ node }) => node)).toEqual(['a', 'b']);
    turns.push(turn(1, 'root', 'other'));
    expect((await steps.upTo('other')).map(({ node }) => node)).toEqual(['other']);
  });
});
