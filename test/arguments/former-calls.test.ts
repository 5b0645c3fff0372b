import { describe, expect, it } from 'vitest';
import { keepFormerIds } from '../../src/arguments/former-calls.js';
import type { PreparedCalls } from '../../src/arguments/prepare-calls.js';
import { idempotencyKey } from '../../src/policy/idempotency-key.js';

const step = { runKey: 'r', step: 3 };
const keyOf = (callId: string, tool: string, digest: string) => idempotencyKey({ runKey: 'r', callId, tool, digest });

function callsOf(...asked: [tool: string, digest: string][]): PreparedCalls {
  const ids = asked.map((_, index) => `c3.${index}`);
  return {
    recorded: asked.map(([tool], index) => {
      return { callId: ids[index] as string, providerCallId: `p${index}`, tool, modelName: tool, rawArguments: '{}' };
    }),
    prepared: asked.map(([tool, digest], index) => {
      const callId = ids[index] as string;
      const call = { runKey: 'r', callId, tool, digest, key: keyOf(callId, tool, digest), arguments: { inline: {} } };
      return { status: 'ready', call, folded: digest };
    }),
  };
}

const idsOf = (calls: PreparedCalls) => calls.recorded.map(({ callId }) => callId);

describe('the calls of a step that is asked for again', () => {
  it('are as they came where nothing came before', () => {
    const calls = callsOf(['refund', 'a']);
    expect(keepFormerIds(calls, [], step)).toBe(calls);
  });

  it('keep the id and key of an equal former one, wherever it stands', () => {
    const former = [
      { callId: 'c3.0', tool: 'print', digest: 'a' },
      { callId: 'c3.1', tool: 'refund', digest: 'b' },
    ];
    const kept = keepFormerIds(callsOf(['refund', 'b'], ['refund', 'c'], ['print', 'a']), former, step);
    expect(idsOf(kept)).toEqual(['c3.1', 'c3.2', 'c3.0']);
    expect(kept.prepared.map((prepared) => prepared.status === 'ready' && prepared.call.key)).toEqual([
      keyOf('c3.1', 'refund', 'b'),
      keyOf('c3.2', 'refund', 'c'),
      keyOf('c3.0', 'print', 'a'),
    ]);
  });

  it('that are equal twice are two calls: only one of them is the former one', () => {
    const former = [{ callId: 'c3.0', tool: 'refund', digest: 'a' }];
    expect(idsOf(keepFormerIds(callsOf(['refund', 'a'], ['refund', 'a']), former, step))).toEqual(['c3.0', 'c3.1']);
  });

  it('never take an id that a former one had with other arguments', () => {
    const former = [{ callId: 'c3.0', tool: 'refund', digest: 'a' }];
    expect(idsOf(keepFormerIds(callsOf(['refund', 'z']), former, step))).toEqual(['c3.1']);
  });
});
