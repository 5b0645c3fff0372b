import { describe, expect, it } from 'vitest';
import type { Outcome, PreparedCall } from '../../src/contract/call.js';
import type { FuseState, LoopState } from '../../src/contract/guard-state.js';
import type { JsonObject } from '../../src/contract/json.js';
import type { ToolSummary } from '../../src/contract/manifest.js';
import { isStuck, noLoop } from '../../src/policy/loop-defence.js';
import { digestOf } from '../../src/policy/idempotency-key.js';
import { AgentCalls } from '../../src/workflows/agent-calls.js';
import { executeCalls } from '../../src/workflows/execute-calls.js';
import { refuse } from '../../src/workflows/refuse-call.js';
import { StepGuards } from '../../src/workflows/step-guards.js';

const tool = (name: string, more: Partial<ToolSummary> = {}): ToolSummary => ({
  name,
  effect: 'read',
  timeoutMs: 1_000,
  budgetMs: 1_000,
  ...more,
});
const manifest = {
  hash: 'h',
  tools: [tool('search'), tool('poll', { polling: true }), tool('write', { effect: 'once' })],
};

let count = 0;
function ready(name: string, args: JsonObject = {}): PreparedCall {
  const callId = `c1.${(count += 1)}`;
  const digest = digestOf(args);
  const call = { runKey: 'r', callId, tool: name, key: `k1:${callId}`, digest, arguments: { inline: args } };
  return { status: 'ready', call };
}

/** A call that could not run: its tool is unknown, or its arguments are wrong. */
function wrong(name: string, args: JsonObject = {}): PreparedCall {
  const callId = `c1.${(count += 1)}`;
  const outcome = { ...refuse({ callId, tool: name, key: `k1:${callId}` }, 'validation_error') };
  delete outcome.refusedByWorkflow;
  return { status: 'answered', callId, digest: digestOf(args), outcome };
}

interface State {
  loop: LoopState;
  fuse: FuseState;
}
const fresh: State = { loop: noLoop, fuse: {} };

/** One step: what was refused, by class, and the state after it. */
function step(state: State, calls: PreparedCall[], end: (tool: string) => Partial<Outcome> = () => ({})) {
  const guards = new StepGuards({ ...state, manifest, loopPolicy: { equalCalls: 2, onExhausted: 'stop' } }, 1);
  const admitted = calls.map((call) => guards.admit(call));
  const outcomes = admitted.map((prepared): Outcome => {
    if (prepared.status === 'answered') return prepared.outcome;
    const { callId, key } = prepared.call;
    const base = { callId, key, tool: prepared.call.tool, attempts: 1, elapsedMs: 1 };
    return { ...base, status: 'succeeded', result: { inline: 'same' }, ...end(base.tool) } as Outcome;
  });
  const classes = outcomes.map((outcome) => ('failure' in outcome ? outcome.failure.class : outcome.status));
  return { state: guards.observe(outcomes), classes, repeats: guards.repeats };
}

describe('the guards of a step', () => {
  it('count equal calls of one step before any of them has ended', () => {
    const { classes } = step(fresh, [ready('search'), ready('search'), ready('search'), ready('search', { q: 1 })]);
    expect(classes).toEqual(['succeeded', 'succeeded', 'repeated_call_blocked', 'succeeded']);
  });

  it('say which earlier call a repetition repeats', () => {
    const first = ready('search');
    const second = step(step(fresh, [first]).state, [ready('search')]);
    expect([...second.repeats.values()]).toEqual([{ key: first.status === 'ready' ? first.call.key : '', times: 1 }]);
  });

  it('let a polling tool repeat itself', () => {
    const { classes } = step(fresh, [ready('poll'), ready('poll'), ready('poll'), ready('poll')]);
    expect(new Set(classes)).toEqual(new Set(['succeeded']));
  });

  it('keep the own answer of a call that could not run, and count its repetition', () => {
    let state = fresh;
    for (let n = 0; n < 4; n += 1) {
      const next = step(state, [wrong('search', { q: 1 })]);
      expect(next.classes).toEqual(['validation_error']);
      state = next.state;
    }
    expect(isStuck(state.loop)).toBe(true);
  });

  it('take the same wrong arguments of different tools for different calls', () => {
    const names = Array.from({ length: 30 }, (_, n) => `made_up_${n}`);
    const { state } = step(
      fresh,
      names.map((name) => wrong(name)),
    );
    expect(state.loop.refusals).toBe(0);
    expect(isStuck(state.loop)).toBe(false);
  });

  it('switch a tool off after three failures of its own fault, and count no refusal as one', () => {
    const broken = () => ({
      status: 'failed' as const,
      failure: refuse({ callId: 'c', tool: 'search', key: 'k' }, 'tool_bug').failure,
    });
    const calls = [1, 2, 3].map((n) => ready('search', { n }));
    const { state } = step(fresh, calls, broken);
    const next = step(state, [ready('search', { n: 4 }), ready('write')]);
    expect(next.classes).toEqual(['tool_temporarily_disabled', 'succeeded']);
    expect(next.state.fuse['search']?.failures).toBe(3);
  });
});

describe('a step that has nothing to run', () => {
  it('gives the outcomes that are there, in order', async () => {
    const calls = [wrong('b'), wrong('a')];
    const outcomes = await executeCalls(calls, {
      storeId: 's',
      manifest,
      heartbeatTimeoutMs: 1_000,
      stepNode: 'n',
      consecutiveFailures: {},
      agents: new AgentCalls({ depth: 0, catalogue: manifest.hash }),
    });
    expect(outcomes.map((outcome) => outcome.tool)).toEqual(['b', 'a']);
  });
});
