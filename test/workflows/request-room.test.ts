import { describe, expect, test } from 'vitest';
import { RequestRoom } from '../../src/workflows/request-room.js';

/** Work that is begun by the room and ended by the test. */
function work(room: RequestRoom, bytes: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const state = { begun: false, end: resolve };
  const done = (async () => {
    const entered = room.enter(bytes);
    if (entered) await entered;
    state.begun = true;
    await promise;
    room.leave(bytes);
  })();
  return { state, done };
}
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

describe('the room of a request', () => {
  test('lets calls wait, in their order, until there is room', async () => {
    const room = new RequestRoom(10);
    const calls = [6, 6, 4, 1].map((bytes) => work(room, bytes));
    await settled();
    // The small ones do not overtake, so that a large call is not put off for ever.
    expect(calls.map(({ state }) => state.begun)).toEqual([true, false, false, false]);
    calls[0]?.state.end();
    await settled();
    expect(calls.map(({ state }) => state.begun)).toEqual([true, true, true, false]);
    calls[2]?.state.end();
    await settled();
    expect(calls[3]?.state.begun).toBe(true);
    for (const { state } of calls) state.end();
    await Promise.all(calls.map(({ done }) => done));
  });
  test('takes a call that is larger than itself, alone', async () => {
    const room = new RequestRoom(10);
    const [large, next] = [work(room, 50), work(room, 1)];
    await settled();
    expect([large.state.begun, next.state.begun]).toEqual([true, false]);
    large.state.end();
    await large.done;
    await settled();
    expect(next.state.begun).toBe(true);
    next.state.end();
    await next.done;
  });
  test('needs no promise where there is room, also after a larger one has left', () => {
    const room = new RequestRoom(10);
    expect(room.enter(50)).toBeUndefined();
    room.leave(50);
    expect(room.enter(10)).toBeUndefined();
    expect(room.enter(1)).toBeInstanceOf(Promise);
  });
});
