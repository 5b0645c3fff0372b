/** What every store must do, whatever it is built on. */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Outcome } from '../../src/contract/call.js';
import type { LedgerEvent } from '../../src/contract/ledger.js';
import type { RunFilter } from '../../src/store/records.js';
import { StoreError } from '../../src/store/store-error.js';
import type { Store } from '../../src/store/store.js';
import {
  assistant,
  commitOf,
  endOf,
  eventsFor,
  failed,
  MANIFEST,
  recordedOf,
  rendered,
  runOf,
  succeeded,
  turnOf,
} from './store-samples.js';

/** One place where a store lives, empty at first. */
export interface StorePlace {
  /** A new handle on the store; the contract closes it. */
  open(): Promise<Store>;
  /** URL of a module whose `open(location)` opens the store in another process. */
  opener: string;
  location: string;
  /** Removes whatever is left. */
  remove(): Promise<void>;
}

const limits = { steps: 9, calls: null, tokens: null, costUsd: null, wallTimeMs: null, failures: null };
const pinned = { limits, loopPolicy: { equalCalls: 2, onExhausted: 'stop' } as const };
const settling = { kind: 'resolution', by: 'ada', callId: 'c1.0', key: 'k1', happened: true } as const;

/** The `n`th execution of a run. */
const execution = (n: number) => ({ runId: `execution-${n}` });

const child = fileURLToPath(new URL('./store-child.ts', import.meta.url));

export function describeStoreContract(name: string, makePlace: () => Promise<StorePlace>): void {
  describe(`${name}: the store's contract`, () => {
    let place: StorePlace;
    let store: Store;
    let opened: Store[];

    beforeEach(async () => {
      place = await makePlace();
      opened = [];
      store = await open();
    });

    afterEach(async () => {
      await Promise.all(opened.map((handle) => handle.close()));
      await place.remove();
    });

    async function open(): Promise<Store> {
      const handle = await place.open();
      opened.push(handle);
      return handle;
    }

    async function runChild(task: string, argument: string): Promise<unknown> {
      const args = [...process.execArgv, child, place.opener, place.location, task, argument];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      return JSON.parse(stdout) as unknown;
    }

    function expectCode(promise: Promise<unknown>, code: StoreError['code'], words: RegExp): Promise<void> {
      return promise.then(
        () => {
          throw new Error('expected a rejection');
        },
        (error: unknown) => {
          expect(error).toBeInstanceOf(StoreError);
          expect(error).toMatchObject({ code });
          expect((error as StoreError).message).toMatch(words);
        },
      );
    }

    describe('identity and clock', () => {
      test('keeps its identity over handles and openings', async () => {
        const { storeId } = store;
        await store.close();
        expect(storeId).toMatch(/^[a-z0-9]{8,}$/);
        expect((await open()).storeId).toBe(storeId);
      });

      test('tells the time in epoch milliseconds', async () => {
        expect(Math.abs((await store.now()) - Date.now())).toBeLessThan(5_000);
        expect(Number.isInteger(await store.now())).toBe(true);
      });
    });

    describe('runs', () => {
      test('writes a root with its first messages', async () => {
        const run = await store.createRun(runOf('r1'));
        expect(run).toMatchObject({ runKey: 'r1', workflowId: 'wf-r1', status: 'running', manifestHash: 'manifest-1' });
        expect(run).not.toHaveProperty('result');
        expect(await store.getRun('r1')).toEqual(run);
        expect(await store.getManifest('manifest-1')).toEqual(MANIFEST);
        expect((await store.getChain(run.head)).map(({ message }) => message)).toEqual([
          { role: 'user', text: 'Refund order 1042' },
        ]);
      });

      test('returns the earlier record under the same runKey and changes nothing', async () => {
        const first = await store.createRun(runOf('r1'));
        const again = await store.createRun({
          ...runOf('r1', [{ role: 'user', text: 'something else' }]),
          task: 'something else',
          manifest: { hash: 'manifest-2', tools: [] },
        });
        expect(again).toEqual(first);
        expect(await store.getManifest('manifest-2')).toBeUndefined();
      });

      test('has no head where there is no conversation', async () => {
        expect((await store.createRun(runOf('r1', []))).head).toBe('');
        expect(await store.getChain('')).toEqual([]);
      });

      test('lists the newest first, by prefix, status and limit', async () => {
        for (const runKey of ['a1', 'a2', 'b1']) await store.createRun(runOf(runKey));
        await store.finishRun('a1', endOf('completed'));
        const keys = async (filter: Parameters<Store['listRuns']>[0]) =>
          (await store.listRuns(filter)).map(({ runKey }) => runKey);
        expect(await keys({ limit: 10 })).toEqual(['b1', 'a2', 'a1']);
        expect(await keys({ limit: 1 })).toEqual(['b1']);
        expect(await keys({ limit: 10, workflowIdPrefix: 'wf-a' })).toEqual(['a2', 'a1']);
        expect(await keys({ limit: 10, workflowIdPrefix: 'wf-_' })).toEqual([]);
        expect(await keys({ limit: 10, status: 'completed' })).toEqual(['a1']);
      });

      test('finds a run by its exact name, whatever else begins so', async () => {
        for (const runKey of ['a', 'a%', 'a1', 'a2']) await store.createRun(runOf(runKey));
        const named = async (workflowId: string, more: Partial<RunFilter> = {}) =>
          (await store.listRuns({ workflowId, limit: 1, ...more })).map(({ runKey }) => runKey);
        expect(await named('wf-a')).toEqual(['a']);
        expect(await named('wf-a%')).toEqual(['a%']);
        for (const none of ['wf-', 'wf-_', 'WF-A', 'wf-a3', '']) expect(await named(none)).toEqual([]);
        expect(await named('wf-a', { status: 'completed' })).toEqual([]);
        expect(await named('wf-a1', { workflowIdPrefix: 'wf-a2' })).toEqual([]);
        // A name may be used again, once the server has forgotten it.
        await store.createRun({ ...runOf('again'), workflowId: 'wf-a' });
        expect(await named('wf-a', { limit: 2 })).toEqual(['again', 'a']);
      });

      test('ends a run, and ends it anew after a reset', async () => {
        await store.createRun(runOf('r1'));
        await store.finishRun('r1', endOf('failed'));
        await store.finishRun('r1', endOf('completed', 'Refunded.'));
        expect(await store.getRun('r1')).toMatchObject({
          status: 'completed',
          result: endOf('completed', 'Refunded.'),
        });
      });

      test('ends with the conversation that the end is of, else where the conversation is', async () => {
        const { head: root } = await store.createRun({ ...runOf('r1'), by: execution(1) });
        const { answer: first } = await store.commitTurn(commitOf(turnOf('r1', 1, root), 'first'), execution(1));
        const other = turnOf('r1', 1, root, { take: 1 });
        const { answer: second } = await store.commitTurn(commitOf(other, 'second'), execution(1));
        await store.finishRun('r1', endOf('cancelled'), { by: execution(1) });
        expect((await store.getRun('r1'))?.head).toBe(second.head);
        await store.finishRun('r1', endOf('completed', 'first'), { by: execution(1), head: first.head });
        expect((await store.getRun('r1'))?.head).toBe(first.head);
        const late = { by: execution(0), head: second.head };
        await expectCode(store.finishRun('r1', endOf('completed'), late), 'overtaken', /execution-1/);
        expect((await store.getRun('r1'))?.head).toBe(first.head);
      });

      test('ends with the outcomes that the workflow refused, and which execution it was', async () => {
        await store.createRun({ ...runOf('r1'), by: execution(1) });
        const refused = [recordedOf('k1', 'r1', 'c1.0')];
        await store.finishRun('r1', endOf('capped'), { by: execution(1), refused });
        expect(await store.getRun('r1')).toMatchObject({ status: 'capped', endedBy: 'execution-1' });
        expect(await store.getCall('k1')).toMatchObject({ row: { state: 'sealed' }, rendered: rendered('refused') });
      });

      describe('that an execution has', () => {
        const manifest = { hash: 'manifest-1', tools: [] };
        const retry = { intervention: { ...settling, id: 'i1' }, ledger: [] };
        let root: string;
        beforeEach(async () => {
          root = (await store.createRun({ ...runOf('r1'), by: execution(1) })).head;
        });

        const take = (n: number, after: number | undefined) =>
          store.takeOver('r1', { ...execution(n), after: after === undefined ? undefined : execution(after).runId });

        test('are the first one’s from the start, and another’s once that has taken them over', async () => {
          expect(await store.getRun('r1')).toMatchObject({ execution: 'execution-1' });
          // A second start, of an execution that is left over, does not take it back.
          await store.createRun({ ...runOf('r1'), by: execution(0) });
          expect(await take(2, 1)).toBe(true);
          expect(await store.getRun('r1')).toMatchObject({ execution: 'execution-2', status: 'running' });
          expect(await take(2, 1)).toBe(true);
        });

        test('are not taken over by one that looked before somebody else took them', async () => {
          expect(await take(3, 1)).toBe(true);
          expect(await take(2, 1)).toBe(false);
          expect(await store.getRun('r1')).toMatchObject({ execution: 'execution-3' });
          await expectCode(store.takeOver('r9', { ...execution(1), after: undefined }), 'missing_run', /r9/);
        });

        test('are nobody’s where an older version began them, until somebody takes them over', async () => {
          await store.createRun(runOf('r2'));
          expect(await store.getRun('r2')).not.toHaveProperty('execution');
          await expectCode(
            store.finishRun('r2', endOf('failed'), { by: execution(1) }),
            'overtaken',
            /r2 is not known/,
          );
          expect(await store.takeOver('r2', { ...execution(1), after: 'execution-0' })).toBe(false);
          expect(await store.takeOver('r2', { ...execution(1), after: undefined })).toBe(true);
          await store.finishRun('r2', endOf('failed'), { by: execution(1) });
        });

        test('refuse whatever arrives late of one before, and change nothing for it', async () => {
          const turn = turnOf('r1', 1, root);
          expect(await store.countTurnStart(turn, execution(1))).toBe(1);
          await take(2, 1);
          const refused = [recordedOf('k1', 'r1', 'c1.0')];
          const late = { by: execution(1), refused };
          const before = await store.getRun('r1');
          for (const asked of [
            () => store.finishRun('r1', endOf('failed'), late),
            () => store.recordOutcomes(refused, execution(1)),
            () => store.countTurnStart(turn, execution(1)),
            () => store.commitTurn(commitOf(turn, 'late', refused), execution(1)),
            () => store.intervene({ runKey: 'r1', ...retry, run: { manifest, pinned, by: execution(1) } }),
          ]) {
            await expectCode(asked(), 'overtaken', /r1 is that of execution execution-2.*execution-1 asks/);
          }
          expect(await store.getRun('r1')).toEqual(before);
          expect(await store.getCall('k1')).toBeUndefined();
          expect(await store.listTurns('r1')).toEqual([]);
          expect(await store.listInterventions('r1')).toEqual([]);

          await store.intervene({ runKey: 'r1', ...retry, run: { manifest, pinned, by: execution(2) } });
          await store.recordOutcomes(refused, execution(2));
          expect(await store.getCall('k1')).toMatchObject({ row: { state: 'sealed' } });
          expect(await store.countTurnStart(turn, execution(2))).toBe(2);
          await store.finishRun('r1', endOf('completed'), { by: execution(2) });
          await expectCode(store.finishRun('r1', endOf('failed'), late), 'overtaken', /execution-2/);
          await expectCode(store.countTurnStart(turn, execution(1)), 'overtaken', /execution-2/);
          expect(await store.getRun('r1')).toMatchObject({ status: 'completed', endedBy: 'execution-2' });
        });

        test('let only the one that has them claim and seal its calls', async () => {
          const on = eventsFor('r1', 'c1.0');
          const by = (n: number) => ({ ...execution(n), runKey: 'r1' });
          const sealing = on.seal(failed('k1', 'c1.0'), failed('k1', 'c1.0'));
          await take(2, 1);
          for (const event of [on.claim('zombie'), sealing]) {
            await expectCode(store.applyLedger('k1', event, undefined, by(1)), 'overtaken', /execution-2/);
          }
          expect(await store.getCall('k1')).toBeUndefined();
          expect(await store.applyLedger('k1', on.claim('t'), undefined, by(2))).toMatchObject({ type: 'granted' });
          await expectCode(store.applyLedger('k1', sealing, undefined, by(1)), 'overtaken', /execution-2/);
          expect(await store.applyLedger('k1', on.begin('t'))).toMatchObject({ type: 'accepted' });
          // Calls of a run that the store does not have are nobody's.
          const unknown = { ...execution(1), runKey: 'r9' };
          expect(await store.applyLedger('k9', on.claim('t'), undefined, unknown)).toMatchObject({ type: 'granted' });
        });

        test('keep the head with the one that has them, whatever turn another starts or answers late', async () => {
          const zombie = turnOf('r1', 1, root);
          await store.countTurnStart(zombie, execution(1));
          await take(2, 1);
          const again = turnOf('r1', 1, root, { settings: 's2' });
          await store.countTurnStart(again, execution(2));
          await expectCode(store.countTurnStart(zombie, execution(1)), 'overtaken', /execution-2/);
          const { answer } = await store.commitTurn(commitOf(again, 'the newest says'), execution(2));
          expect((await store.getRun('r1'))?.head).toBe(answer.head);
          // An answer that is there is told to anybody.
          expect(await store.commitTurn(commitOf(again, 'late'), execution(1))).toEqual({ answer, isNew: false });
        });
      });

      test('names the run that it does not have', async () => {
        await expectCode(store.finishRun('r9', endOf('failed')), 'missing_run', /r9/);
        await expectCode(store.countTurnStart(turnOf('r9', 1, '')), 'missing_run', /r9/);
        await expectCode(store.commitTurn(commitOf(turnOf('r9', 1, ''), 'x')), 'missing_run', /r9.*another store/);
        expect(await store.getRun('r9')).toBeUndefined();
        expect(await store.getManifest('m9')).toBeUndefined();
      });
    });

    describe('the transcript', () => {
      test('gives equal messages after equal parents one id, and others another', async () => {
        const one = await store.createRun(runOf('r1'));
        const two = await store.createRun(runOf('r2'));
        const three = await store.createRun(runOf('r3', [{ role: 'user', text: 'Refund order 1043' }]));
        expect(two.head).toBe(one.head);
        expect(three.head).not.toBe(one.head);
        const twice: Parameters<typeof runOf>[1] = [assistant('again'), assistant('again')];
        const [first, second] = await store.getChain((await store.createRun(runOf('r4', twice))).head);
        expect(second?.id).not.toBe(first?.id);
        expect(second?.parent).toBe(first?.id);
      });

      test('returns every message as it was, whatever characters it holds', async () => {
        const texts = ['', 'NUL \u0000 here', 'lone \ud800 surrogate', '💥', '{"__proto__":1}', 'x'.repeat(1_000_000)];
        const messages = texts.map(assistant);
        const { head } = await store.createRun(runOf('r1', messages));
        expect((await store.getChain(head)).map(({ message }) => message)).toEqual(messages);
        expect((await store.getNode(head))?.message).toEqual(messages.at(-1));
      });

      test('names a node that it does not have', async () => {
        await store.createRun(runOf('r1'));
        await expectCode(store.getChain('no-such-node'), 'missing_node', /no-such-node/);
        await expectCode(
          store.commitTurn(commitOf(turnOf('r1', 1, 'no-such-node'), 'x')),
          'missing_node',
          /no-such-node/,
        );
        expect(await store.getNode('no-such-node')).toBeUndefined();
        expect(await store.listTurns('r1')).toEqual([]);
      });
    });

    describe('a person’s interventions', () => {
      async function failedCall(key: string): Promise<ReturnType<typeof eventsFor>> {
        const on = eventsFor('r1', 'c1.0');
        await store.applyLedger(key, on.claim('t'));
        await store.applyLedger(key, on.begin('t'));
        await store.applyLedger(key, on.settle('t', failed(key, 'c1.0')), rendered('broken'));
        return on;
      }

      test('are recorded with what they change: the call is open again, the run running, with other tools and limits', async () => {
        await store.createRun({
          ...runOf('r1'),
          by: execution(1),
          pinned: { ...pinned, limits: { ...limits, steps: 1 } },
        });
        const on = await failedCall('k1');
        await store.finishRun('r1', endOf('failed'), { by: execution(1) });
        expect(await store.getRun('r1')).toMatchObject({ status: 'failed', endedBy: 'execution-1' });
        const manifest = { hash: 'manifest-2', tools: [] };
        const change = {
          runKey: 'r1',
          intervention: { ...settling, id: 'i1' },
          run: { manifest, pinned },
          ledger: [{ key: 'k1', event: on.reopen() }],
        };
        const first = await store.intervene(change);
        expect(first).toMatchObject({ status: 'recorded', intervention: { id: 'i1', by: 'ada' } });
        const run = await store.getRun('r1');
        expect(run).toMatchObject({ status: 'running', manifestHash: 'manifest-2', pinned });
        expect(run).not.toHaveProperty('result');
        expect(run).not.toHaveProperty('endedBy');
        expect(await store.getManifest('manifest-2')).toEqual(manifest);
        const call = await store.getCall('k1');
        expect(call?.row).toMatchObject({ state: 'released', starts: 1, startsBefore: 1, spentMs: 0 });
        expect(call).not.toHaveProperty('rendered');
        expect(call?.row).not.toHaveProperty('outcome');

        // The same one again changes nothing.
        await store.finishRun('r1', endOf('completed'));
        expect(await store.intervene(change)).toEqual(first);
        expect(await store.getRun('r1')).toMatchObject({ status: 'completed' });
        expect(await store.listInterventions('r1')).toEqual([first.status === 'recorded' && first.intervention]);
      });

      test('that the ledger refuses in one part change nothing at all', async () => {
        await store.createRun(runOf('r1'));
        const on = await failedCall('k1');
        await store.recordOutcomes([recordedOf('k2', 'r1', 'c1.1')]);
        const refused = await store.intervene({
          runKey: 'r1',
          intervention: { ...settling, id: 'i1' },
          ledger: ['k1', 'k2'].map((key) => ({ key, event: on.reopen() })),
        });
        expect(refused).toMatchObject({ status: 'refused', key: 'k2', verdict: { type: 'superseded' } });
        expect((await store.getCall('k1'))?.row.state).toBe('failed');
        expect(await store.listInterventions('r1')).toEqual([]);
      });

      test('keep the outcomes that they took back, of all runs, from a time on', async () => {
        await store.createRun(runOf('r1'));
        const on = await failedCall('k1');
        const outcome = failed('k1', 'c1.0');
        const retry = {
          ...{ kind: 'retry' as const, id: 'i1', by: 'ada', former: { status: 'failed' as const } },
          reopened: [{ callId: 'c1.0', key: 'k1', outcome }],
          resumed: { carried: {} as never },
        };
        const recorded = await store.intervene({
          runKey: 'r1',
          intervention: retry,
          ledger: [{ key: 'k1', event: on.reopen() }],
        });
        await store.intervene({ runKey: 'r1', intervention: { ...settling, id: 'i2', former: outcome }, ledger: [] });
        const takenBack = await store.listTakenBack({ sinceMs: 0 });
        expect(takenBack).toMatchObject([
          { runKey: 'r1', key: 'k1', outcome },
          { runKey: 'r1', key: settling.key, outcome },
        ]);
        const { atMs } = takenBack[0]!;
        expect(recorded).toMatchObject({ intervention: { atMs } });
        expect(await store.listTakenBack({ sinceMs: (await store.now()) + 60_000 })).toEqual([]);
      });

      test('are listed in their order, and need a run', async () => {
        await store.createRun(runOf('r1'));
        for (const id of ['b', 'a']) {
          await store.intervene({ runKey: 'r1', intervention: { ...settling, id }, ledger: [] });
        }
        const listed = await store.listInterventions('r1');
        expect(listed.map(({ id }) => id)).toEqual(['b', 'a']);
        // What a model turn needs of them, it is given with its own question.
        expect(await store.getTurn(turnOf('r1', 1, ''))).toEqual({ interventions: listed });
        await expectCode(
          store.intervene({ runKey: 'none', intervention: { ...settling, id: 'c' }, ledger: [] }),
          'missing_run',
          /none/,
        );
      });
    });

    describe('model turns', () => {
      test('that another execution starts take back the run’s end; those of the one that ended do not', async () => {
        const run = await store.createRun({ ...runOf('r2'), by: execution(1) });
        await store.finishRun('r2', endOf('failed'), { by: execution(1) });
        await store.countTurnStart(turnOf('r2', 1, run.head), execution(1));
        expect(await store.getRun('r2')).toMatchObject({ status: 'failed' });
        await store.takeOver('r2', { ...execution(2), after: execution(1).runId });
        const ended = await store.getRun('r2');
        expect(ended).toMatchObject({ status: 'failed' });
        await expect.poll(() => store.now()).toBeGreaterThan(ended?.updatedAtMs ?? NaN);
        await store.countTurnStart(turnOf('r2', 1, run.head), execution(2));
        const reopened = await store.getRun('r2');
        expect(reopened).toMatchObject({ status: 'running' });
        expect(reopened?.updatedAtMs).toBeGreaterThan(ended?.updatedAtMs ?? NaN);
      });

      let root: string;
      beforeEach(async () => {
        root = (await store.createRun(runOf('r1'))).head;
      });

      test('counts starts for each question', async () => {
        expect(await store.countTurnStart(turnOf('r1', 1, root))).toBe(1);
        expect(await store.countTurnStart(turnOf('r1', 1, root))).toBe(2);
        expect(await store.countTurnStart(turnOf('r1', 1, root, { take: 1 }))).toBe(1);
        expect(await store.countTurnStart(turnOf('r1', 1, root, { settings: 's2' }))).toBe(1);
        expect(await store.getTurn(turnOf('r1', 1, root))).toEqual({ interventions: [] });
        expect(await store.listTurns('r1')).toEqual([]);
      });

      test('commits nodes, answered calls, answer and head together', async () => {
        const turn = turnOf('r1', 1, root);
        await store.countTurnStart(turn);
        const { answer: answer } = await store.commitTurn(commitOf(turn, 'hello', [recordedOf('k1', 'r1', 'c1.0')]));
        expect(answer).toMatchObject({ text: 'hello', empty: false });
        expect(await store.getTurn(turn)).toEqual({ answer, interventions: [] });
        expect((await store.getRun('r1'))?.head).toBe(answer.head);
        expect((await store.getChain(answer.head)).map(({ message }) => message.role)).toEqual(['user', 'assistant']);
        expect(await store.getCall('k1')).toMatchObject({ row: { state: 'sealed' }, rendered: rendered('refused') });
        expect(await store.listTurns('r1')).toMatchObject([{ turn, result: answer }]);
        expect(await store.countTurnStart(turn)).toBe(2);
      });

      test('keeps the first answer: a zombie learns it, and leaves nothing behind', async () => {
        const turn = turnOf('r1', 1, root);
        const first = await store.commitTurn(commitOf(turn, 'first'));
        expect(first.isNew).toBe(true);
        const run = await store.getRun('r1');
        const late = await store.commitTurn(commitOf(turn, 'second', [recordedOf('k9', 'r1', 'c1.0')]));
        expect(late).toEqual({ answer: first.answer, isNew: false });
        expect(await store.getRun('r1')).toEqual(run);
        expect(await store.getCall('k9')).toBeUndefined();
        expect(await store.listTurns('r1')).toHaveLength(1);
      });

      test('lets exactly one of many side by side win', async () => {
        const other = await open();
        const turn = turnOf('r1', 1, root);
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, n) =>
            (n % 2 ? store : other).commitTurn(commitOf(turn, `answer ${String(n)}`)),
          ),
        );
        expect(new Set(answers.map(({ answer }) => answer.head)).size).toBe(1);
        expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
        expect(await store.listTurns('r1')).toHaveLength(1);
      });

      test('leaves the head where a recorded answer is read again after a reset', async () => {
        const { answer: one } = await store.commitTurn(commitOf(turnOf('r1', 1, root), 'one'));
        const { answer: two } = await store.commitTurn(commitOf(turnOf('r1', 2, one.head), 'two'));
        expect(await store.commitTurn(commitOf(turnOf('r1', 1, root), 'asked again'))).toEqual({
          answer: one,
          isNew: false,
        });
        expect((await store.getRun('r1'))?.head).toBe(two.head);
      });

      test('gives the head to the branch that was asked last, and not to a zombie of the other', async () => {
        const { answer: one } = await store.commitTurn(commitOf(turnOf('r1', 1, root), 'one'));
        const zombie = turnOf('r1', 2, one.head);
        await store.countTurnStart(zombie);
        // A workflow reset to before step 1, and another model.
        const again = turnOf('r1', 1, root, { settings: 's2' });
        await store.countTurnStart(again);
        const { answer: other } = await store.commitTurn(commitOf(again, 'another way'));
        const { answer: late } = await store.commitTurn(commitOf(zombie, 'late'));
        expect((await store.getRun('r1'))?.head).toBe(other.head);
        // The late answer is kept: the same question would not be paid for twice.
        expect(await store.getTurn(zombie)).toEqual({ answer: late, interventions: [] });
        expect((await store.listTurns('r1')).map(({ result }) => result.text)).toEqual(['one', 'another way', 'late']);
        expect((await store.listTurns('r1', 1)).map(({ result }) => result.text)).toEqual(['another way', 'late']);
        expect(await store.listTurns('r1', 3)).toEqual([]);
      });

      test('gives the head to the turn after one that a late attempt starts again', async () => {
        const first = turnOf('r1', 1, root);
        await store.countTurnStart(first);
        const { answer: one } = await store.commitTurn(commitOf(first, 'one'));
        const second = turnOf('r1', 2, one.head);
        await store.countTurnStart(second);
        expect(await store.countTurnStart(first)).toBe(2);
        const { answer: two } = await store.commitTurn(commitOf(second, 'two'));
        expect((await store.getRun('r1'))?.head).toBe(two.head);
      });

      test('moves the head neither back nor aside for a question that was asked before', async () => {
        const first = turnOf('r1', 1, root);
        const second = turnOf('r1', 1, root, { take: 1 });
        await store.countTurnStart(first);
        await store.countTurnStart(second);
        const { answer: answer } = await store.commitTurn(commitOf(second, 'second take'));
        await store.commitTurn(commitOf(first, 'first take, late'));
        expect((await store.getRun('r1'))?.head).toBe(answer.head);
        const { answer: next } = await store.commitTurn(commitOf(turnOf('r1', 2, answer.head), 'on'));
        expect((await store.getRun('r1'))?.head).toBe(next.head);
      });
    });

    describe('the ledger', () => {
      const { claim, begin, settle, seal, end } = eventsFor('r1', 'c1.0');
      const done = succeeded('k1', 'c1.0', 'refunded');

      test('keeps a row from claim to outcome, with its rendered message', async () => {
        expect(await store.applyLedger('k1', claim('a'))).toMatchObject({ type: 'granted', former: 'never' });
        expect(await store.applyLedger('k1', claim('b'))).toMatchObject({ type: 'busy' });
        const begun = await store.applyLedger('k1', begin('a'));
        expect(begun).toMatchObject({ type: 'accepted', row: { starts: 1, begun: true } });
        expect((await store.getCall('k1'))?.row).toEqual(begun.row);
        expect(await store.applyLedger('k1', settle('a', done), rendered('{"status":"succeeded"}'))).toMatchObject({
          type: 'accepted',
        });
        expect(await store.getCall('k1')).toMatchObject({
          row: { state: 'done', outcome: done, effect: { kind: 'once' }, spentMs: expect.any(Number) as number },
          rendered: rendered('{"status":"succeeded"}'),
          attempts: [],
        });
        expect(await store.applyLedger('k1', claim('c'))).toMatchObject({ type: 'settled', outcome: done });
      });

      test('keeps fractions of milliseconds as they are', async () => {
        await store.applyLedger('k1', claim('a', 1000.25));
        await store.applyLedger('k1', begin('a', 1000.25));
        const ended = await store.applyLedger('k1', { type: 'end', token: 'a', effect: 'none', waitMs: 12.5 });
        expect((await store.getCall('k1'))?.row).toEqual(ended.row);
      });

      test('renders the outcome that sealing wrote', async () => {
        const [none, unknown] = [succeeded('k1', 'c1.0', 'none'), succeeded('k1', 'c1.0', 'unknown')];
        const renderings = { ifNone: rendered('nothing happened'), ifUnknown: rendered('nobody knows') };
        expect(await store.applyLedger('k1', seal(none, unknown), renderings)).toMatchObject({ outcome: none });
        expect(await store.getCall('k1')).toMatchObject({ rendered: rendered('nothing happened') });
        await store.applyLedger('k2', claim('a'));
        await store.applyLedger('k2', begin('a'));
        expect(await store.applyLedger('k2', seal(none, unknown), renderings)).toMatchObject({ outcome: unknown });
        expect(await store.getCall('k2')).toMatchObject({ rendered: rendered('nobody knows') });
      });

      test('does not let a late settlement touch outcome or rendering', async () => {
        await store.applyLedger('k1', claim('a'));
        await store.applyLedger('k1', settle('a', done), rendered('first'));
        const before = await store.getCall('k1');
        expect(await store.applyLedger('k1', settle('a', done), rendered('late'))).toMatchObject({
          type: 'superseded',
        });
        await store.recordOutcomes([recordedOf('k1', 'r1', 'c1.0', 'refused')]);
        expect(await store.getCall('k1')).toEqual(before);
      });

      test('refuses a rendering that the event cannot use, and writes nothing', async () => {
        await expectCode(store.applyLedger('k1', claim('a'), rendered('x')), 'invalid', /claim/);
        expect(await store.getCall('k1')).toBeUndefined();
        await store.applyLedger('k1', claim('a'));
        const pair = { ifNone: rendered('x'), ifUnknown: rendered('y') };
        await expectCode(store.applyLedger('k1', settle('a', done), pair), 'invalid', /settle/);
        expect(await store.getCall('k1')).toMatchObject({ row: { state: 'started', token: 'a' } });
      });

      test('lapses a lease by its own clock', async () => {
        await store.applyLedger('k1', claim('a', 30));
        const busy = await store.applyLedger('k1', claim('b'));
        expect(busy).toMatchObject({ type: 'busy' });
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(await store.applyLedger('k1', begin('a'))).toMatchObject({ type: 'superseded' });
        expect(await store.applyLedger('k1', claim('b'))).toMatchObject({ type: 'granted' });
      });

      test('seals what somebody holds when its refusal is recorded', async () => {
        await store.applyLedger('k1', claim('a'));
        await store.recordOutcomes([recordedOf('k1', 'r1', 'c1.0', 'over budget')]);
        expect(await store.getCall('k1')).toMatchObject({
          row: { state: 'sealed' },
          rendered: rendered('over budget'),
        });
        expect(await store.applyLedger('k1', begin('a'))).toMatchObject({ type: 'settled' });
      });

      test('lists the calls of a run in their order', async () => {
        const ids = ['c10.0', 'c2.1', 'c2.10', 'c2.0', 'c1.0'];
        await store.recordOutcomes(ids.map((id) => recordedOf(`k-${id}`, 'r1', id)));
        await store.recordOutcomes([recordedOf('k-other', 'r2', 'c1.0')]);
        const order = (await store.listCalls('r1')).map(({ row }) => row.callId);
        expect(order).toEqual(['c1.0', 'c2.0', 'c2.1', 'c2.10', 'c10.0']);
        expect(await store.listCalls('r3')).toEqual([]);
      });

      test('pages the calls of all runs since a time, with their attempts', async () => {
        await store.recordOutcomes([recordedOf('k1', 'r1', 'c1.0')]);
        const old = (await store.getCall('k1'))?.row.updatedAtMs ?? 0;
        await new Promise((resolve) => setTimeout(resolve, 5));
        for (const n of [2, 3, 4])
          await store.recordOutcomes([recordedOf(`k${String(n)}`, `r${String(n % 2)}`, 'c2.0')]);
        await store.recordAttempt({ key: 'k3', start: 1, worker: 'w1', startedAtMs: 100 });
        const pageKeys = async (page: Parameters<Store['listCallsSince']>[0]) => {
          const { calls, next } = await store.listCallsSince(page);
          return { keys: calls.map(({ row }) => row.key), next };
        };
        expect(await pageKeys({ sinceMs: old, limit: 10 })).toEqual({
          keys: ['k1', 'k2', 'k3', 'k4'],
          next: undefined,
        });
        const first = await pageKeys({ sinceMs: old + 1, limit: 2 });
        expect(first).toEqual({ keys: ['k2', 'k3'], next: expect.any(Number) });
        expect(await pageKeys({ sinceMs: old + 1, limit: 2, after: first.next ?? 0 })).toEqual({
          keys: ['k4'],
          next: undefined,
        });
        expect((await store.listCallsSince({ sinceMs: 0, limit: 3 })).calls[2]).toEqual(await store.getCall('k3'));
        expect(await store.listCallsSince({ sinceMs: Date.now() + 60_000, limit: 10 })).toEqual({ calls: [] });
      });

      test('notes whose start it is when it begins, and nothing where it may not', async () => {
        const by = (worker: string, token: string) => ({ ...begin(token), by: { worker, atMs: 100 } }) as LedgerEvent;
        await store.applyLedger('k1', claim('a'));
        await store.applyLedger('k1', by('w2', 'b'));
        expect((await store.getCall('k1'))?.attempts).toEqual([]);
        await store.applyLedger('k1', by('w1', 'a'));
        await store.applyLedger('k1', by('w3', 'a'));
        expect((await store.getCall('k1'))?.attempts).toEqual([
          { key: 'k1', start: 1, worker: 'w1', startedAtMs: 100 },
        ]);
        await store.applyLedger('k1', end('a'));
        await store.applyLedger('k1', claim('b'));
        await store.applyLedger('k1', by('w2', 'b'));
        expect((await store.getCall('k1'))?.attempts.map(({ worker }) => worker)).toEqual(['w1', 'w2']);
      });

      test('adds and completes the record of a start', async () => {
        await store.applyLedger('k1', claim('a'));
        await store.applyLedger('k1', begin('a'));
        await store.applyLedger('k1', end('a'));
        await store.recordAttempt({ key: 'k1', start: 2, worker: 'w2', startedAtMs: 300 });
        await store.recordAttempt({ key: 'k1', start: 1, worker: 'w1', startedAtMs: 100 });
        await store.recordAttempt({
          key: 'k1',
          start: 1,
          worker: 'w1',
          startedAtMs: 100,
          endedAtMs: 200,
          failure: { a: 1 },
        });
        await store.recordAttempt({
          key: 'k1',
          start: 1,
          worker: 'w9',
          startedAtMs: 999,
          endedAtMs: 999,
          failure: { b: 2 },
        });
        expect((await store.getCall('k1'))?.attempts).toEqual([
          { key: 'k1', start: 1, worker: 'w1', startedAtMs: 100, endedAtMs: 200, failure: { a: 1 } },
          { key: 'k1', start: 2, worker: 'w2', startedAtMs: 300 },
        ]);
      });

      test('lists the calls of a run that failed, whatever their words hold, and no more than asked for', async () => {
        const ended = (callId: string, outcome: Outcome, runKey = 'r1') =>
          store.recordOutcomes([{ ...recordedOf(`k-${callId}`, runKey, callId), outcome }]);
        const unwell = (callId: string, change: object): Outcome => {
          const outcome = failed(`k-${callId}`, callId) as Extract<Outcome, { failure: object }>;
          return { ...outcome, failure: { ...outcome.failure, ...change } };
        };
        await ended('c1.0', unwell('c1.0', { message: 'NUL \0 and half of \ud83d' }));
        await ended('c1.1', unwell('c1.1', { class: 'cancelled' }));
        await ended('c1.2', unwell('c1.2', { class: 'skipped' }));
        await ended('c1.3', succeeded('k-c1.3', 'c1.3', '"status":"failed"'));
        await ended('c1.4', { ...unwell('c1.4', {}), status: 'aborted' } as Outcome);
        await ended('c1.5', unwell('c1.5', {}), 'r2');
        for (let n = 0; n < 120; n += 1) {
          const callId = `c2.${String(n)}`;
          await ended(callId, unwell(callId, { class: n < 110 ? 'cancelled' : 'tool_bug' }));
        }
        expect((await store.listFailedCalls('r1', 2)).sort()).toEqual(['k-c1.0', 'k-c1.4']);
        expect(await store.listFailedCalls('r1', 5)).toHaveLength(5);
        expect(await store.listFailedCalls('r1', 100)).toHaveLength(12);
        expect(await store.listFailedCalls('r2', 100)).toEqual(['k-c1.5']);
      });
    });

    describe('bodies', () => {
      test('stores equal bytes once and returns them', async () => {
        const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
        const id = await store.putBody(bytes);
        expect(await store.putBody(bytes.slice())).toBe(id);
        expect(await store.putBody(bytes.subarray(1))).not.toBe(id);
        expect(Buffer.from((await store.getBody(id)) ?? []).equals(bytes)).toBe(true);
        expect(await store.getBody(await store.putBody(new Uint8Array(0)))).toEqual(new Uint8Array(0));
        expect(await store.getBody('no-such-body')).toBeUndefined();
      });
    });

    describe('requests that fail', () => {
      test('leave those that came with them untouched', async () => {
        await store.createRun(runOf('r1'));
        const bad = { ...commitOf(turnOf('r1', 1, ''), 'bad', [recordedOf('k-bad', 'r1', 'c1.0')]) };
        // The turn cannot be stored for its last part: what came before it must vanish.
        bad.result = { ...bad.result, text: 10n as unknown as string };
        const [good, failed, alsoGood] = await Promise.allSettled([
          store.putBody(new Uint8Array([1])),
          store.commitTurn(bad),
          store.createRun(runOf('r2')),
        ]);
        expect([good.status, failed.status, alsoGood.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
        expect((failed as PromiseRejectedResult).reason).toMatchObject({ name: 'StoreError', code: 'invalid' });
        expect(await store.getCall('k-bad')).toBeUndefined();
        expect(await store.listTurns('r1')).toEqual([]);
        expect(await store.getRun('r2')).toBeDefined();
      });

      test('reject where a value is no JSON', async () => {
        const message = assistant((() => 'x') as unknown as string);
        await expectCode(store.createRun(runOf('r1', [message])), 'invalid', /./);
        expect(await store.getRun('r1')).toBeUndefined();
      });
    });

    describe('closing', () => {
      test('answers what was asked before, and refuses what comes later', async () => {
        const pending = Array.from({ length: 500 }, (_, index) =>
          store.putBody(new Uint8Array([index % 256, index >> 8])),
        );
        const closed = store.close();
        const late = store.putBody(new Uint8Array([9, 9, 9]));
        await expectCode(late, 'closed', /closed/);
        expect(new Set(await Promise.all(pending)).size).toBe(500);
        await closed;
        await expectCode(store.now(), 'closed', /closed/);
        await store.close();
      });
    });

    describe('several handles and processes', () => {
      test('see what another has written', async () => {
        const other = await open();
        const { head } = await store.createRun(runOf('r1'));
        expect(await other.getChain(head)).toHaveLength(1);
        expect(other.storeId).toBe(store.storeId);
      });

      test('create one run under one key between them', async () => {
        const other = await open();
        const runs = await Promise.all([store, other, store, other].map((handle) => handle.createRun(runOf('r1'))));
        for (const run of runs) expect(run).toEqual(runs[0]);
      });

      test(
        'never hold one claim at a time: 4 processes, 200 claims each on 50 calls',
        { timeout: 60_000 },
        async () => {
          const folder = mkdtempSync(join(tmpdir(), 'perdure-claims-'));
          try {
            const results = (await Promise.all(Array.from({ length: 4 }, () => runChild('claims', folder)))) as {
              begun: number;
              busy: number;
              overlaps: number;
            }[];
            const sum = (field: 'begun' | 'busy' | 'overlaps') => results.reduce((total, one) => total + one[field], 0);
            expect(sum('overlaps')).toBe(0);
            expect(sum('begun') + sum('busy')).toBe(800);
            const calls = await store.listCalls('run-1');
            expect(calls.reduce((total, { row }) => total + row.starts, 0)).toBe(sum('begun'));
            for (const { row } of calls) expect(row).toMatchObject({ state: 'released', begun: false });
          } finally {
            rmSync(folder, { recursive: true });
          }
        },
      );

      test(
        'lose nothing that was promised when one is killed, and keep no half of what was not',
        { timeout: 60_000 },
        async () => {
          for (const kill of [1, 40, 150]) {
            const name = `killed-${String(kill)}`;
            const promised = await promisedUntilKilled(name, kill);
            expect(promised.length).toBeGreaterThanOrEqual(kill);
            for (const { runKey, step, head } of promised) {
              const answer = (await store.listTurns(runKey)).find(({ turn }) => turn.step === step);
              expect(answer?.result.head).toBe(head);
            }
            for (const run of await store.listRuns({ workflowIdPrefix: `wf-${name}-`, limit: 100 })) {
              const turns = await store.listTurns(run.runKey);
              const calls = await store.listCalls(run.runKey);
              // One node for the task and one for each turn; one refused call for each turn; the head at the last.
              expect(await store.getChain(run.head)).toHaveLength(turns.length + 1);
              expect(calls.map(({ row }) => row.callId)).toEqual(turns.map(({ turn }) => `c${String(turn.step)}.0`));
            }
          }
        },
      );

      /** Lines of a child that is killed in the middle of its writing, right after it has said `lines` of them. */
      async function promisedUntilKilled(name: string, lines: number) {
        const args = [...process.execArgv, child, place.opener, place.location, 'turns', name];
        const process_ = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        const promised: { runKey: string; step: number; head: string }[] = [];
        for await (const line of createInterface({ input: process_.stdout })) {
          promised.push(JSON.parse(line) as (typeof promised)[number]);
          if (promised.length === lines) process_.kill('SIGKILL');
        }
        return promised;
      }
    });
  });
}
