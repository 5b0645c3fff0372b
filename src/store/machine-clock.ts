/** Steps back of the machine's clock up to this size are waited out. Well below any lease, well above NTP's slewing. */
const HELD_STEP_MS = 1_000;

/**
 * The clock of a store that lives on one machine: the machine's own, which every process that opens the file shares.
 *
 * What leases need most is that all processes read the same time: a process with a clock of its own (frozen or counted
 * from its start) would take live claims for lapsed ones. So a small step back is held still, for times that do not run
 * backwards, and a larger one is followed at once. Safety rests on tokens, not on this clock: a jump forward makes live
 * leases lapse early (their holders count as lost), a jump back delays takeovers by its size, and neither lets two hold a
 * claim.
 */
export function machineClock(wallClock: () => number = Date.now): () => number {
  let last = -Infinity;
  return () => {
    const now = Math.floor(wallClock());
    if (now >= last || last - now > HELD_STEP_MS) last = now;
    return last;
  };
}
