import fc from 'fast-check';
import { expect, it } from 'vitest';
import { StreamedCalls } from '../../src/models/streamed-calls.js';

const aCall = fc.record({
  id: fc.option(fc.constantFrom('', 'call_0', 'call_1'), { nil: undefined }),
  name: fc.constantFrom('get', 'put'),
  args: fc
    .record({ k: fc.string(), n: fc.option(fc.integer(), { nil: undefined }) })
    .map((value) => JSON.stringify(value)),
});

function pieces(text: string, cuts: number[]): string[] {
  const at = [...new Set([0, text.length, ...cuts.map((cut) => cut % (text.length + 1))])].sort((a, b) => a - b);
  return at.slice(1).map((end, index) => text.slice(at[index], end));
}

it('puts calls together however they are cut and interleaved, whatever their ids', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(aCall, fc.array(fc.nat(), { maxLength: 5 })), { minLength: 1, maxLength: 4 }),
      fc.infiniteStream(fc.nat()),
      (calls, turns) => {
        const queues = calls.map(([call, cuts], index) =>
          pieces(call.args, cuts).map((text, part) => ({
            index,
            ...(part === 0 && call.id !== undefined && { id: call.id }),
            function: { ...(part === 0 && { name: call.name }), arguments: text },
          })),
        );
        const streamed = new StreamedCalls();
        while (queues.some((queue) => queue.length > 0)) {
          const waiting = queues.filter((queue) => queue.length > 0);
          const fragment = waiting[turns.next().value % waiting.length]?.shift();
          if (fragment) streamed.add(fragment, 'fragments');
        }
        expect(streamed.inOrder().map((call) => [call.id, call.name, call.arguments])).toEqual(
          calls.map(([call]) => [call.id, call.name, call.args]),
        );
      },
    ),
  );
});

it('puts calls together that come one after another without an index, the name only in front', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(aCall, fc.array(fc.nat(), { maxLength: 5 })), { minLength: 1, maxLength: 4 }),
      (calls) => {
        const streamed = new StreamedCalls();
        for (const [call, cuts] of calls) {
          pieces(call.args, cuts).forEach((text, part) => {
            const head = part === 0 ? { ...(call.id !== undefined && { id: call.id }) } : {};
            const name = part === 0 ? { name: call.name } : {};
            streamed.add({ ...head, function: { ...name, arguments: text } }, 'fragments');
          });
        }
        expect(streamed.inOrder().map((call) => [call.name, call.arguments])).toEqual(
          calls.map(([call]) => [call.name, call.args]),
        );
      },
    ),
  );
});
