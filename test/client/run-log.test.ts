import { describe, expect, it } from 'vitest';
import type { InterventionDescription, RunDescription } from '../../src/client/run-description.js';
import { renderLogEntry } from '../../src/cli/render/log-view.js';
import { makeStyle } from '../../src/cli/render/style.js';
import { runLog } from '../../src/client/run-log.js';
import type { ServerEvent } from '../../src/client/run-server.js';
import type { Outcome } from '../../src/contract/call.js';
import type { Failure } from '../../src/contract/failure.js';
import type { AgentRunResult } from '../../src/contract/run.js';
import { refusedRefund, sampleRun, START_MS } from '../cli/sample-run.js';

const capped: AgentRunResult = {
  status: 'capped',
  answer: 'As far as I got.',
  termination: { reason: 'steps_cap', summary: "the run's limit of 2 steps is used up" },
  counters: { steps: 2, calls: 3, inputTokens: 1, outputTokens: 1, costUsd: 0, failures: 2 },
};

const takenBack: Extract<Outcome, { failure: Failure }> = {
  callId: 'c2.1',
  tool: 'refund_payment',
  key: 'k1:bb',
  attempts: 1,
  elapsedMs: 1_200,
  status: 'failed',
  failure: { ...refusedRefund.failure!, class: 'auth_failed', code: 'AUTH_INVALID_001' },
};

const retry: InterventionDescription = {
  id: 'i1',
  kind: 'retry',
  atMs: START_MS + 4_900,
  by: 'anna',
  note: 'new token',
  former: capped,
  calls: [{ callId: 'c2.1', key: 'k1:bb', outcome: takenBack }],
};

/** What is said from the retry's former end on. */
function lines(run: RunDescription, onServer?: ServerEvent[]): string[] {
  return runLog(run, onServer).map(({ atMs, event, callId = 'run', by = '', said = '' }) =>
    [atMs - START_MS, event, callId, by, said.split('\n')[0]].join(' ').replace(/ +/g, ' ').trim(),
  );
}

describe("a run's log", () => {
  it('has who retried it when, how it had ended before, and which outcome was taken back', () => {
    const closed: ServerEvent = { type: 'closed', atMs: START_MS + 4_500, executionId: 'e0' };
    expect(lines(sampleRun({ interventions: [retry] }), [closed]).slice(3)).toEqual([
      '3000 attempt_started c2.1',
      '4200 attempt_failed c2.1',
      '4200 outcome c2.1 failed: auth_failed (AUTH_INVALID_001)',
      "4500 cap_reached run the run's limit of 2 steps is used up",
      "4500 run_ended run capped: the run's limit of 2 steps is used up",
      '4900 retried run anna runs again: c2.1',
      '5000 attempt_started c2.1',
      '5340 attempt_failed c2.1',
      '12400 run_ended run completed: The model answered.',
    ]);
  });

  it('puts the former end of a run that its server has forgotten just before the retry', () => {
    const said = lines(sampleRun({ interventions: [retry] }));
    expect(said.slice(said.indexOf('4900 retried run anna runs again: c2.1') - 1)[0]).toContain(
      '4900 run_ended run capped',
    );
  });

  it('has who settled a call, and what was thought of it before', () => {
    const resolution: InterventionDescription = {
      id: 'i2',
      kind: 'resolution',
      atMs: START_MS + 8_000,
      by: 'bert',
      happened: true,
      calls: [{ callId: 'c2.1', key: 'k1:bb', outcome: takenBack }],
    };
    const said = lines(sampleRun({ interventions: [resolution] }));
    expect(said).toContain('5340 outcome c2.1 failed: auth_failed (AUTH_INVALID_001)');
    expect(said).toContain('8000 resolved c2.1 bert it happened');
  });

  it('puts the outcome of a person’s word where that was given, not where the last start ended', () => {
    const resolution: InterventionDescription = {
      ...{ id: 'i2', kind: 'resolution', atMs: START_MS + 8_000, by: 'bert', happened: false },
      calls: [{ callId: 'c2.1', key: 'k1:bb', outcome: takenBack }],
    };
    const skipped: Outcome = {
      ...takenBack,
      failure: { ...takenBack.failure, class: 'skipped', code: 'TOOL_ABORT_002' },
    };
    const again = { ...retry, atMs: START_MS + 9_000, calls: [{ callId: 'c2.1', key: 'k1:bb', outcome: skipped }] };
    const said = lines(sampleRun({ interventions: [resolution, again] }));
    expect(said).toContain('5340 outcome c2.1 failed: auth_failed (AUTH_INVALID_001)');
    expect(said).toContain('8000 outcome c2.1 failed: skipped (TOOL_ABORT_002)');
  });

  it('has what Temporal’s commands did', () => {
    const events: ServerEvent[] = [
      { type: 'cancel_requested', atMs: START_MS + 6_000, executionId: 'e1', by: 'anna@box' },
      { type: 'reset', atMs: START_MS + 7_000, executionId: 'e2', by: 'ops@box', reason: 'bad deployment' },
    ];
    const log = runLog(sampleRun(), events);
    expect(log.filter(({ by }) => by !== undefined)).toMatchObject([
      { event: 'cancel_requested', by: 'anna@box' },
      { event: 'reset', by: 'ops@box', note: 'bad deployment' },
    ]);
  });

  it('says of which execution nobody knows what was done to it', () => {
    const gone: ServerEvent = { type: 'history_gone', atMs: START_MS + 6_000, executionId: 'e1' };
    const entry = runLog(sampleRun(), [gone]).find(({ event }) => event === 'history_gone');
    expect(entry).toEqual({ atMs: START_MS + 6_000, event: 'history_gone', id: 'history_gone/e1', said: 'e1' });
    expect(renderLogEntry(entry!, makeStyle({ colour: false, columns: undefined, nowMs: START_MS }))).toMatch(
      /run {2}what Temporal's own commands did to the execution e1 is not known: the server has its history no more$/,
    );
  });

  it('tells of a limit when the work before the last words ended', () => {
    const [first, second, third] = sampleRun().steps;
    const ended = second!.calls.map((call) => ({ ...call, endedAtMs: START_MS + 5_340 }));
    const run = sampleRun({ state: 'capped', result: capped, steps: [first!, { ...second!, calls: ended }, third!] });
    const said = lines(run);
    expect(said).toContain("5340 cap_reached run the run's limit of 2 steps is used up");
    expect(said.at(-1)).toBe("12400 run_ended run capped: the run's limit of 2 steps is used up");
  });
});
