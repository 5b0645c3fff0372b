/**
 * Runs what has the same key one after the other, in the order asked, and everything else side by side. Each starts when the
 * one before it has settled, however that ended.
 */
export function inTurn(): <T>(key: string, run: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (key, run) => {
    const before = last.get(key);
    const mine = before ? before.then(run, run) : run();
    last.set(key, mine);
    const settled = () => {
      if (last.get(key) === mine) last.delete(key);
    };
    mine.then(settled, settled);
    return mine;
  };
}
