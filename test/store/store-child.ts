/**
 * What the contract tests run in processes of their own: `node store-child.ts OPENER LOCATION TASK ARGUMENT`. Each line on
 * stdout is JSON and written at once, so that it is out even if the process is killed right after.
 */
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SharedState } from '../../src/store/shared-state.js';
import type { Store } from '../../src/store/store.js';
import { commitOf, eventsFor, recordedOf, runOf, turnOf } from './store-samples.js';

function say(line: unknown): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** Claims and begins random ones of 50 calls; a file per call witnesses that nobody else is between begin and end. */
async function claims(store: Store, folder: string): Promise<void> {
  let begun = 0;
  let busy = 0;
  let overlaps = 0;
  const one = async (number: number) => {
    const index = Math.floor(Math.random() * 50);
    const key = `key-${String(index)}`;
    const token = `${String(process.pid)}-${String(number)}`;
    const { claim, begin, end } = eventsFor('run-1', `c1.${String(index)}`);
    if ((await store.applyLedger(key, claim(token))).type !== 'granted') {
      busy += 1;
      return;
    }
    if ((await store.applyLedger(key, begin(token))).type !== 'accepted') throw new Error('begin was refused');
    const witness = join(folder, key);
    try {
      closeSync(openSync(witness, 'wx'));
    } catch {
      overlaps += 1;
    }
    begun += 1;
    await sleep(Math.random() * 3);
    unlinkSync(witness);
    await store.applyLedger(key, end(token));
  };
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(Array.from({ length: 10 }, (_, index) => one(round * 10 + index)));
  }
  say({ begun, busy, overlaps });
}

/** Answers turns without end, 8 runs side by side, and says each once it is promised durable. */
async function turns(store: Store, name: string): Promise<void> {
  const conversation = async (runKey: string) => {
    let { head } = await store.createRun(runOf(runKey));
    for (let step = 1; ; step += 1) {
      const answered = recordedOf(`${runKey}-${String(step)}`, runKey, `c${String(step)}.0`);
      ({
        answer: { head },
      } = await store.commitTurn(commitOf(turnOf(runKey, step, head), `step ${String(step)}`, [answered])));
      say({ runKey, step, head });
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => conversation(`${name}-${String(index)}`)));
}

async function opening(store: Store): Promise<void> {
  say({ storeId: store.storeId, body: await store.putBody(new Uint8Array([1, 2, 3])) });
}

/** Takes from one limiter and one lock as often as it can; a file witnesses that nobody else holds the lock. */
async function sharing(store: SharedState, folder: string): Promise<void> {
  let granted = 0;
  let held = 0;
  let overlaps = 0;
  const token = String(process.pid);
  for (let round = 0; round < 200; round += 1) {
    const passed = await store.applyShared('api', {
      kind: 'limiter',
      type: 'take',
      limits: { requestsPerMinute: 600 },
      charge: { requests: 1, tokens: 0 },
      maxWaitMs: 0,
      spare: 0,
      returned: { requests: 0, tokens: 0 },
    });
    if (passed.type === 'granted') granted += 1;
    const lock = await store.applyShared('account', { kind: 'lock', type: 'take', token, leaseMs: 10_000, permits: 1 });
    if (lock.type !== 'held') continue;
    held += 1;
    try {
      closeSync(openSync(join(folder, 'witness'), 'wx'));
    } catch {
      overlaps += 1;
    }
    unlinkSync(join(folder, 'witness'));
    await store.applyShared('account', { kind: 'lock', type: 'release', token });
  }
  say({ granted, held, overlaps });
}

const [opener = '', location = '', task = '', argument = ''] = process.argv.slice(2);
const { open } = (await import(opener)) as { open(location: string): Promise<Store & SharedState> };
const tasks: Record<string, (store: Store & SharedState, argument: string) => Promise<void>> = {
  claims,
  turns,
  opening,
  sharing,
};
const store = await open(location);
await tasks[task]?.(store, argument);
await store.close();
