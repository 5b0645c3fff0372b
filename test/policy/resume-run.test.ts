import { describe, expect, it } from 'vitest';
import type { PreparedCall } from '../../src/contract/call.js';
import type { Effect } from '../../src/contract/effect.js';
import type { LedgerRow } from '../../src/contract/ledger.js';
import { planRestart, planResume, type AnsweredTurn, type ResumeQuestion } from '../../src/policy/resume-run.js';
import { failureOf, KEYED, ONCE, outcomeOf, READ } from './ledger-rows.js';

const effects: Record<string, Effect> = { refund: KEYED, print: ONCE, look_up: READ, clerk: READ };
const tokensOf = { inputTokens: 1, outputTokens: 1, costUsd: 0 };

function turn(step: number, head: string, calls: string[] = [], more: Partial<AnsweredTurn['result']> = {}, take = 0) {
  const prepared = calls.map((tool, index): PreparedCall => {
    const callId = `c${step}.${index}`;
    const call = { runKey: 'r', callId, tool, key: `k:${callId}`, digest: 'd1', arguments: { inline: {} } };
    return { status: 'ready', call };
  });
  return {
    turn: { step, head, take },
    result: { head: `n${step}.${take}`, calls: prepared, usage: tokensOf, text: 'words', empty: false, ...more },
  };
}

function row(callId: string, tool: string, more: Partial<LedgerRow>): [string, LedgerRow] {
  const effect = effects[tool] ?? ONCE;
  const base = {
    runKey: 'r',
    callId,
    tool,
    digest: 'd1',
    effect,
    leaseUntilMs: 0,
    begun: false,
    starts: 1,
    spentMs: 9,
  };
  const key = `k:${callId}`;
  return [key, { ...base, key, state: 'failed', mayHaveHappened: false, firstStartAtMs: 0, updatedAtMs: 0, ...more }];
}

function plan(turns: AnsweredTurn[], rows: [string, LedgerRow][], more: Partial<ResumeQuestion> = {}) {
  return planResume({
    run: { head: turns.at(-1)?.result.head ?? 'root', status: 'failed' },
    turns,
    rows: new Map(rows),
    effectOf: (tool) => effects[tool],
    isAgent: (tool) => tool === 'clerk',
    askAgain: false,
    nowMs: 1_000,
    ...more,
  });
}

describe('a run goes on', () => {
  it('with its first question where the model never answered', () => {
    expect(plan([], [])).toMatchObject({ head: 'root', steps: 0, reopened: [], unresolved: [] });
  });

  it('after its last turn, with what is open there and what a person may have cured', () => {
    const done = row('c1.0', 'refund', { state: 'done', outcome: outcomeOf('ok') });
    const bug = row('c1.1', 'refund', { outcome: failureOf('tool_bug', 'unknown') });
    const invalid = row('c1.2', 'refund', { outcome: failureOf('business_rule_violation', 'none') });
    const went = plan([turn(1, 'root', ['refund', 'refund', 'refund', 'refund'])], [done, bug, invalid]);
    expect(went.calls?.map(({ status }) => status)).toEqual(['settled', 'open', 'settled', 'open']);
    expect(went.reopened).toMatchObject([{ key: 'k:c1.1', outcome: { failure: { class: 'tool_bug' } } }]);
    expect(went).toMatchObject({ head: 'n1.0', steps: 1 });
  });

  it('without a `once` call that may have happened, nor those after it', () => {
    const unknown = row('c1.0', 'print', { outcome: failureOf('outcome_unknown', 'unknown') });
    const went = plan([turn(1, 'root', ['print', 'print', 'refund'])], [unknown]);
    expect(went.calls?.map(({ status }) => status)).toEqual(['settled', 'skipped', 'open']);
    expect(went.unresolved.map(({ callId }) => callId)).toEqual(['c1.0']);
  });

  it('with a `once` call whose failure proved that nothing happened', () => {
    const proved = row('c1.0', 'print', { outcome: failureOf('auth_failed', 'none') });
    expect(plan([turn(1, 'root', ['print'])], [proved]).calls).toMatchObject([{ status: 'open' }]);
  });

  it('without a keyed call whose key the backend may have forgotten', () => {
    const late = row('c1.0', 'refund', { outcome: failureOf('server_error', 'unknown') });
    const went = plan([turn(1, 'root', ['refund'])], [late], { nowMs: 10_000 });
    expect(went.calls).toMatchObject([{ status: 'settled' }]);
    expect(went.unresolved).toHaveLength(1);
  });

  it('before the last words at a cap, whose refused calls may be asked for again', () => {
    const refusedCall = row('c2.0', 'refund', { starts: 0, digest: '', outcome: failureOf('skipped', 'none') });
    const went = plan(
      [turn(1, 'root', ['refund']), turn(2, 'n1.0', ['refund'], { finalTurn: true })],
      [row('c1.0', 'refund', { state: 'done', outcome: outcomeOf('ok') }), refusedCall],
      { run: { head: 'n2.0', status: 'capped' } },
    );
    expect(went).toMatchObject({ head: 'n1.0', steps: 1, calls: [{ status: 'settled' }] });
    expect(went.reopened.map(({ key }) => key)).toEqual(['k:c2.0']);
  });

  it('before empty turns, at a step of its own', () => {
    const turns = [turn(1, 'root', [], { empty: true }), turn(1, 'root', [], { empty: true }, 1)];
    expect(plan(turns, [])).toMatchObject({ head: 'root', steps: 1 });
    expect(plan(turns, []).calls).toBeUndefined();
  });

  it('to its end where the model had answered', () => {
    expect(plan([turn(1, 'root', [], { text: 'the answer' })], [])).toMatchObject({ answer: 'the answer' });
  });

  it('with the same question under another take, where the model is asked again', () => {
    const turns = [turn(1, 'root', ['refund']), turn(2, 'n1.0', ['print', 'refund'])];
    const rows = [
      row('c1.0', 'refund', { state: 'done', outcome: outcomeOf('ok') }),
      row('c2.0', 'print', { state: 'done', outcome: outcomeOf('ok') }),
      row('c2.1', 'refund', { outcome: failureOf('tool_bug', 'unknown') }),
    ];
    const went = plan(turns, rows, { askAgain: true });
    expect(went).toMatchObject({
      head: 'n1.0',
      steps: 2,
      nextTurn: { step: 2, take: 1 },
      calls: [{ status: 'settled' }],
    });
    expect(went.setAside.map(({ callId }) => callId)).toEqual(['c2.0']);
    expect(went.reopened.map(({ key }) => key)).toEqual(['k:c2.1']);
  });

  it('knowing what was done in the turn that is set aside, also by calls that failed after it and by agents', () => {
    const rows = [
      row('c1.0', 'print', { outcome: failureOf('output_invalid', 'done') }),
      row('c1.1', 'print', { outcome: failureOf('auth_failed', 'none') }),
      row('c1.2', 'look_up', { state: 'done', outcome: outcomeOf('ok') }),
      row('c1.3', 'clerk', { state: 'done', outcome: outcomeOf('ok') }),
    ];
    const went = plan([turn(1, 'root', ['print', 'print', 'look_up', 'clerk'])], rows, { askAgain: true });
    expect(went.setAside.map(({ callId }) => callId)).toEqual(['c1.0', 'c1.3']);
    expect(went.undecided).toEqual([]);
  });

  it('knowing which call of the turn that is set aside nobody knows the end of, and none of the turns before', () => {
    const turns = [turn(1, 'root', ['print']), turn(2, 'n1.0', ['print'])];
    const unknown = failureOf('outcome_unknown', 'unknown');
    const rows = [row('c1.0', 'print', { outcome: unknown }), row('c2.0', 'print', { outcome: unknown })];
    const went = plan(turns, rows, { askAgain: true });
    expect(went.undecided.map(({ callId }) => callId)).toEqual(['c2.0']);
    expect(went.unresolved.map(({ callId }) => callId)).toEqual(['c1.0']);
    expect(plan(turns, rows).undecided).toEqual([]);
  });
});

describe('an agent that a reset of its parent started again', () => {
  const restarted = (turns: AnsweredTurn[], rows: [string, LedgerRow][]) =>
    planRestart({
      run: { head: turns.at(-1)?.result.head ?? 'root', status: 'cancelled' },
      turns,
      rows: new Map(rows),
      effectOf: (tool) => effects[tool],
      nowMs: 1_000,
    }).map(({ key }) => key);
  const stopped = (callId: string, tool: string, effectState: 'none' | 'unknown', starts = 1) =>
    row(callId, tool, { outcome: failureOf('cancelled', effectState), state: 'sealed', starts });

  it('runs what was stopped in its last turn, and nothing that a model has read', () => {
    const turns = [turn(1, 'root', ['refund']), turn(2, 'n1.0', ['refund', 'refund', 'print'])];
    const bug = row('c2.1', 'refund', { outcome: failureOf('tool_bug', 'none') });
    const rows = [stopped('c1.0', 'refund', 'none'), stopped('c2.0', 'refund', 'unknown'), bug];
    expect(restarted(turns, [...rows, stopped('c2.2', 'print', 'none', 0)])).toEqual(['k:c2.0', 'k:c2.2']);
    expect(restarted([], [])).toEqual([]);
  });

  it('leaves a `once` call that may have happened, and the `once` calls after it', () => {
    const rows = [stopped('c1.0', 'print', 'unknown'), stopped('c1.1', 'print', 'none', 0)];
    expect(restarted([turn(1, 'root', ['print', 'print'])], rows)).toEqual([]);
  });
});
