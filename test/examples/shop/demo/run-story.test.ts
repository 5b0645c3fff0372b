import { describe, expect, it } from 'vitest';
import { troublesOf, type AttemptStory, type CallStory } from '../../../../examples/shop/demo/run-story.js';

function handlingOf(call: Partial<CallStory>): string[] {
  const whole = { callId: 'c1.1', tool: 'tool', state: 'succeeded', starts: 1, effect: 'read', attempts: [], ...call };
  return troublesOf([{ step: 1, text: '', calls: [whole] }]).map(({ what, handling }) => `${what}: ${handling}`);
}

const failedStart = (start: number, error_type: string, upstream_status?: number): AttemptStory => ({
  start,
  startedAtMs: start * 2000,
  endedAtMs: start * 2000 + 500,
  failure: { error_type, ...(upstream_status !== undefined && { upstream_status }) },
});
const endedStart = (start: number): AttemptStory => ({
  start,
  startedAtMs: start * 2000,
  endedAtMs: start * 2000 + 10,
});
const lostStart = (start: number): AttemptStory => ({ start, startedAtMs: start * 2000 });

describe('what failed in a call', () => {
  it('is nothing where the first start succeeded or is still running', () => {
    expect(handlingOf({ attempts: [endedStart(1)] })).toEqual([]);
    expect(handlingOf({ state: 'running', attempts: [lostStart(1)] })).toEqual([]);
  });

  it('says how long the next start waited, and who asked for that', () => {
    expect(handlingOf({ attempts: [failedStart(1, 'rate_limit', 429), endedStart(2)] })).toEqual([
      'rate_limit (HTTP 429): asked again after 1.5 s, as the shop asked',
    ]);
  });

  it('tells equal failures in a row together', () => {
    const down = (start: number) => failedStart(start, 'external_service_unavailable', 503);
    expect(handlingOf({ attempts: [down(1), down(2), endedStart(3)] })).toEqual([
      'external_service_unavailable (HTTP 503), 2 times: asked again after 1.5 s',
    ]);
  });

  it('tells of a worker that was lost, and that the key stayed the same', () => {
    expect(handlingOf({ effect: 'idempotent by key', attempts: [lostStart(1), endedStart(2)] })).toEqual([
      'lost worker: another worker asked again with the same key',
    ]);
  });

  it('knows a lost worker by the decision in the record', () => {
    const lost = { ...failedStart(1, 'timeout'), failure: { error_type: 'timeout', decision: 'worker_lost' } };
    expect(handlingOf({ attempts: [lost, endedStart(2)] })).toEqual(['lost worker: another worker asked again']);
  });

  it('tells that a lost answer of a once tool was looked up', () => {
    expect(handlingOf({ effect: 'once', attempts: [failedStart(1, 'network_error')] })).toEqual([
      'network_error: not run again: the shop was asked, and had done it',
    ]);
  });

  it('ends with what the model was told', () => {
    const failure = { class: 'business_rule_violation', message: 'It has shipped.' };
    expect(
      handlingOf({ state: 'failed', failure, attempts: [failedStart(1, 'business_rule_violation', 200)] }),
    ).toEqual(['business_rule_violation (HTTP 200): told the model: It has shipped.']);
    expect(handlingOf({ state: 'failed', starts: 0, failure: { ...failure, class: 'validation_error' } })).toEqual([
      'validation_error, before anything was sent: told the model: It has shipped.',
    ]);
  });
});
