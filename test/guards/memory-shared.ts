import { sharedTransition, type SharedEvent, type SharedVerdict } from '../../src/policy/shared-state.js';
import type { SharedState } from '../../src/store/shared-state.js';

/** Shared state in memory, on a clock that the test moves. */
export class MemoryShared implements SharedState {
  nowMs = 1_000_000;
  asked = 0;
  readonly states = new Map<string, unknown>();
  /** Thrown by every request while set. */
  down: Error | undefined;

  async applyShared<E extends SharedEvent>(name: string, event: E): Promise<SharedVerdict<E>> {
    this.asked += 1;
    if (this.down) throw this.down;
    const key = `${event.kind}/${name}`;
    const { state, verdict } = sharedTransition(this.states.get(key), event, this.nowMs);
    if (state === undefined) this.states.delete(key);
    else this.states.set(key, JSON.parse(JSON.stringify(state)));
    return verdict as SharedVerdict<E>;
  }
}
