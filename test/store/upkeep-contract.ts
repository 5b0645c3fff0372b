/** What looking after a store must do, whatever it is built on: checking, collecting, measuring. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkStore } from '../../src/store/check-store.js';
import { collectGarbage, type Collection, type CollectOptions } from '../../src/store/collect-garbage.js';
import type { RunStanding } from '../../src/store/collect-runs.js';
import { measureStore } from '../../src/store/measure-store.js';
import { openStore } from '../../src/store/open-store.js';
import type { StoreChoice } from '../../src/store/store-choice.js';
import type { WorkerStore } from '../../src/store/shared-state.js';
import type { Outcome } from '../../src/contract/call.js';
import { openUpkeep, type UpkeepDatabase } from '../../src/store/upkeep-database.js';
import {
  assistant,
  commitOf,
  endOf,
  eventsFor,
  recordedOf,
  rendered,
  retryOf,
  runOf,
  succeeded,
  turnOf,
} from './store-samples.js';

export interface UpkeepPlace {
  choice: StoreChoice;
  /** A statement past all checks of references, as damage and time do their work. */
  damage(sql: string): Promise<void>;
  remove(): Promise<void>;
}

const everything = { closedRunsMs: 0, graceMs: 0 } as const;
const onlyGarbage = { closedRunsMs: null, graceMs: 0 } as const;

/** Fails at the first statement that begins so. */
function stoppedAt(upkeep: UpkeepDatabase, beginning: string): UpkeepDatabase {
  return {
    ...upkeep,
    write: (work) =>
      upkeep.write((query) =>
        work((sql, ...values) =>
          sql.startsWith(beginning) ? Promise.reject(new Error(`stopped at ${beginning}`)) : query(sql, ...values),
        ),
      ),
  };
}

export function describeUpkeepContract(name: string, makePlace: () => Promise<UpkeepPlace>): void {
  describe(`${name}: looking after the store`, () => {
    let place: UpkeepPlace;
    let store: WorkerStore;
    let upkeep: UpkeepDatabase;

    beforeEach(async () => {
      place = await makePlace();
      store = await openStore(place.choice);
      upkeep = await openUpkeep(place.choice);
    });
    afterEach(async () => {
      await store.close();
      await upkeep.close();
      await place.remove();
    });

    /** A run of `steps` turns, one refused call each; its heads, the first message's first. */
    async function converse(runKey: string, steps: number, first = `task of ${runKey}`): Promise<string[]> {
      const { head } = await store.createRun(runOf(runKey, [{ role: 'user', text: first }]));
      const heads = [head];
      for (let step = 1; step <= steps; step += 1) {
        const refused = recordedOf(`${runKey}-${String(step)}`, runKey, `c${String(step)}.0`);
        const turn = turnOf(runKey, step, heads.at(-1) ?? '');
        heads.push((await store.commitTurn(commitOf(turn, `${runKey} ${String(step)}`, [refused]))).answer.head);
      }
      return heads;
    }

    /** A call that ran, with its result in a body and a truncated message. */
    async function runCall(runKey: string, callId: string, text: string): Promise<string> {
      const key = `${runKey}/${callId}`;
      const { claim, begin, settle } = eventsFor(runKey, callId);
      const bodyId = await store.putBody(new TextEncoder().encode(JSON.stringify(text)));
      const outcome: Outcome = {
        ...{ callId, tool: 'refund_payment', key, attempts: 1, elapsedMs: 5, status: 'succeeded' },
        result: { bodyId, bytes: text.length, preview: 'x' },
      };
      await store.applyLedger(key, claim('a'));
      await store.applyLedger(key, begin('a'));
      const content = JSON.stringify({ status: 'succeeded', data: 'x', truncated: { artifact_id: bodyId } });
      await store.applyLedger(key, settle('a', outcome), rendered(content));
      await store.recordAttempt({ key, start: 1, worker: 'w', startedAtMs: 1, endedAtMs: 2 });
      return bodyId;
    }

    /** What a retry does first. */
    const goOn = (runKey: string) => store.intervene(retryOf(runKey));

    const standings =
      (known: Record<string, RunStanding>) =>
      ({ workflowId }: { workflowId: string }): Promise<RunStanding> => {
        const found = known[workflowId];
        return found ? Promise.resolve(found) : Promise.reject(new Error(`nobody knows ${workflowId}`));
      };
    const collect = (options: CollectOptions): Promise<Collection> => collectGarbage(upkeep, options);
    const problems = async (deep = false) =>
      (await checkStore(upkeep, { deep })).problems.map(({ kind, id, runs }) => ({ kind, id, runs }));

    describe('checking', () => {
      test('finds nothing wrong with a store that is whole, and rehashes all of it where asked', async () => {
        await converse('r1', 3);
        await runCall('r1', 'c4.0', 'long');
        const check = await checkStore(upkeep, { deep: true });
        expect(check).toMatchObject({ storeId: store.storeId, runs: 1, nodes: 4, bodies: 5, calls: 4, rehashed: 9 });
        expect(check.problems).toEqual([]);
        expect((await checkStore(upkeep)).problems).toEqual([]);
      });

      test('names a node that is missing in the middle of a conversation, and the runs that lead through it', async () => {
        const [, second = ''] = await converse('r1', 3);
        await converse('r2', 1);
        await place.damage(`DELETE FROM nodes WHERE id = '${second}'`);
        expect(await problems()).toEqual([{ kind: 'missing_node', id: second, runs: ['wf-r1'] }]);
        await expect(store.getChain((await store.getRun('r1'))?.head ?? '')).rejects.toThrow(second);
      });

      test('names the node that a run has come to', async () => {
        const heads = await converse('r1', 1);
        const last = heads.at(-1) ?? '';
        await place.damage(`DELETE FROM nodes WHERE id = '${last}'`);
        expect(await problems()).toEqual([{ kind: 'missing_node', id: last, runs: ['wf-r1'] }]);
      });

      test('reads turns whose text no database could hold as text, and names the node that answered one', async () => {
        const { head } = await store.createRun(runOf('r1'));
        const { answer } = await store.commitTurn(commitOf(turnOf('r1', 1, head), 'NUL \0 and half of \ud83d'));
        await place.damage(`UPDATE runs SET head = '${head}'`);
        expect(await problems(true)).toEqual([]);
        await place.damage(`DELETE FROM nodes WHERE id = '${answer.head}'`);
        expect(await problems()).toEqual([{ kind: 'missing_node', id: answer.head, runs: ['wf-r1'] }]);
      });

      test('names a run that leads through a broken node only by an answer that a reset left behind', async () => {
        const [root = '', second = ''] = await converse('r1', 2);
        await place.damage(`UPDATE runs SET head = '${root}'`);
        const [node] = await upkeep.query<{ body: string }>('SELECT body FROM nodes WHERE id = ?1', second);
        await place.damage(`DELETE FROM bodies WHERE id = '${node?.body ?? ''}'`);
        expect(await problems()).toEqual([{ kind: 'missing_body', id: node?.body, runs: ['wf-r1'] }]);
      });

      test('names a missing message, result, artifact and manifest', async () => {
        await converse('r1', 1);
        const result = await runCall('r1', 'c2.0', 'long');
        const [message] = await upkeep.query<{ body: string }>('SELECT body FROM nodes WHERE parent IS NULL');
        await place.damage(`DELETE FROM bodies WHERE id IN ('${result}', '${message?.body ?? ''}')`);
        await place.damage('DELETE FROM manifests');
        expect(await problems()).toEqual([
          { kind: 'missing_body', id: message?.body, runs: ['wf-r1'] },
          { kind: 'missing_manifest', id: 'manifest-1', runs: ['wf-r1'] },
          { kind: 'missing_body', id: result, runs: ['wf-r1'] },
        ]);
      });

      test.each(['nodes', 'bodies'])(
        'finds nothing missing of a run that is collected before it reads its %s',
        async (table) => {
          await converse('r1', 2);
          await runCall('r1', 'c3.0', 'long');
          await store.finishRun('r1', endOf('completed'));
          let isCollected = false;
          const check = await checkStore({
            ...upkeep,
            query: async <R>(sql: string, ...values: (string | number | null)[]) => {
              if (!isCollected && sql.startsWith(`SELECT id FROM ${table} WHERE`)) {
                isCollected = true;
                expect(await collect(everything)).toMatchObject({ runs: [{ runKey: 'r1' }], nodes: 3 });
              }
              return await upkeep.query<R>(sql, ...values);
            },
          });
          expect(isCollected).toBe(true);
          expect(check).toMatchObject({ runs: 0, problems: [] });
        },
      );

      test('names an outcome without a message, which no model could be shown', async () => {
        await converse('r1', 0);
        await store.recordOutcomes([recordedOf('k1', 'r1', 'c1.0')]);
        await place.damage("UPDATE calls SET rendered = NULL WHERE key = 'k1'");
        expect(await problems()).toEqual([{ kind: 'missing_message', id: 'k1', runs: ['wf-r1'] }]);
      });

      test('finds content that is not what its id says', async () => {
        const [first = ''] = await converse('r1', 1);
        const [node] = await upkeep.query<{ body: string }>('SELECT body FROM nodes WHERE parent IS NULL');
        const other = upkeep.kind === 'sqlite' ? "x'7b7d'" : "'\\x7b7d'::bytea";
        await place.damage(`UPDATE bodies SET bytes = ${other} WHERE id = '${node?.body ?? ''}'`);
        expect(await problems(true)).toEqual([
          { kind: 'changed', id: node?.body, runs: [] },
          { kind: 'changed', id: first, runs: ['wf-r1'] },
        ]);
        // Erased on purpose: the text is another, and that is right.
        await place.damage(`UPDATE bodies SET erased_at_ms = 1 WHERE id = '${node?.body ?? ''}'`);
        expect(await problems(true)).toEqual([]);
      });
    });

    describe('collecting', () => {
      test('takes nothing from live runs, not even what a reset left behind', async () => {
        const heads = await converse('r1', 3);
        await runCall('r1', 'c4.0', 'long');
        await store.commitTurn(commitOf(turnOf('r1', 2, heads[1] ?? '', { take: 1 }), 'another way'));
        const before = await checkStore(upkeep);
        expect(await collect(everything)).toMatchObject({ runs: [], nodes: 0, bodies: 0 });
        expect(await checkStore(upkeep)).toMatchObject({ nodes: before.nodes, bodies: before.bodies, problems: [] });
      });

      test('keeps the answers of turns whose text no database could hold as text', async () => {
        const { head } = await store.createRun(runOf('r1'));
        const { answer } = await store.commitTurn(commitOf(turnOf('r1', 1, head), 'NUL \0 and half of \ud83d'));
        await store.createRun(runOf('r2', [assistant('goes')]));
        await store.finishRun('r2', endOf('completed'));
        // Only the turn still has it.
        await place.damage(`UPDATE runs SET head = '${head}'`);
        expect(await collect(everything)).toMatchObject({ runs: [{ runKey: 'r2' }], nodes: 1 });
        expect(await store.getChain(answer.head)).toHaveLength(2);
      });

      test('takes a run that ended long enough ago, and leaves a tombstone that refuses', async () => {
        const heads = await converse('r1', 2);
        await runCall('r1', 'c3.0', 'long');
        await store.finishRun('r1', endOf('completed'));
        await converse('r2', 1);
        expect(await collect({ closedRunsMs: 3_600_000, graceMs: 0 })).toMatchObject({ runs: [] });
        const { runs, ...counts } = await collect(everything);
        expect(runs).toMatchObject([{ runKey: 'r1', workflowId: 'wf-r1' }]);
        expect(counts).toMatchObject({ turns: 2, calls: 3, nodes: 3, bodies: 4, dryRun: false });
        expect(await store.getRun('r1')).toBeUndefined();
        expect(await store.getTombstone('r1')).toMatchObject({
          runKey: 'r1',
          workflowId: 'wf-r1',
          status: 'completed',
        });
        expect(await store.listCalls('r1')).toEqual([]);
        expect(await upkeep.query('SELECT * FROM attempts')).toEqual([]);
        expect(await problems(true)).toEqual([]);
        expect(await store.getChain((await store.getRun('r2'))?.head ?? '')).toHaveLength(2);

        const refused = { name: 'StoreError', code: 'collected' };
        const turn = turnOf('r1', 3, heads.at(-1) ?? '');
        const { claim, begin, seal } = eventsFor('r1', 'c3.0');
        const outcome = succeeded('r1/c3.0', 'c3.0', 'x');
        for (const zombie of [
          () => store.createRun(runOf('r1')),
          () => store.countTurnStart(turn),
          () => store.commitTurn(commitOf(turn, 'late')),
          () => store.finishRun('r1', endOf('failed')),
          () => store.applyLedger('r1/c3.0', claim('z')),
          () => store.applyLedger('r1/c3.0', begin('z')),
          () => store.applyLedger('r1/c3.0', seal(outcome, outcome)),
          () => store.recordOutcomes([recordedOf('r1/c3.0', 'r1', 'c3.0')]),
        ]) {
          await expect(zombie()).rejects.toMatchObject(refused);
        }
        await expect(store.countTurnStart(turn)).rejects.toThrow(
          /the run wf-r1 \(r1\) had ended and was collected on 20/,
        );
        expect(await upkeep.query('SELECT * FROM calls WHERE run_key = ?1', 'r1')).toEqual([]);
      });

      test('takes a run wholly or not at all, wherever it is stopped', async () => {
        await converse('r1', 2);
        await store.finishRun('r1', endOf('failed'));
        for (const stop of ['DELETE FROM attempts', 'DELETE FROM turns', 'DELETE FROM runs']) {
          await expect(collectGarbage(stoppedAt(upkeep, stop), everything)).rejects.toThrow(stop);
        }
        expect(await store.getTombstone('r1')).toBeUndefined();
        await goOn('r1');
        await store.applyLedger('r1/c9.0', eventsFor('r1', 'c9.0').claim('a'));
        await store.finishRun('r1', endOf('completed'));
        expect(await collect(everything)).toMatchObject({ runs: [] });
        await place.damage('UPDATE calls SET lease_until_ms = 0');
        expect(await collect(everything)).toMatchObject({ runs: [{ runKey: 'r1' }], turns: 2, calls: 3 });
        expect(await store.getTombstone('r1')).toMatchObject({ status: 'completed' });
      });

      test('refuses a run that is to go on as soon as it has a tombstone', async () => {
        await converse('r1', 1);
        await store.finishRun('r1', endOf('failed'));
        const refusals: unknown[] = [];
        const asked: UpkeepDatabase = {
          ...upkeep,
          async write(work) {
            const result = await upkeep.write(work);
            if (await store.getTombstone('r1')) refusals.push(await goOn('r1').catch((error: unknown) => error));
            return result;
          },
        };
        await collectGarbage(asked, everything);
        expect(refusals.length).toBeGreaterThan(0);
        for (const refusal of refusals) expect(refusal).toMatchObject({ name: 'StoreError', code: 'collected' });
      });

      describe('a run that an older version was stopped in the middle of', () => {
        beforeEach(async () => {
          await converse('r1', 2);
          await store.finishRun('r1', endOf('failed'));
          await place.damage(`INSERT INTO tombstones (run_key, workflow_id, status, started_at_ms, ended_at_ms, collected_at_ms)
            SELECT run_key, workflow_id, status, started_at_ms, updated_at_ms, updated_at_ms FROM runs`);
        });

        test('is refused to all who would write of it', async () => {
          const { head = '' } = (await store.getRun('r1')) ?? {};
          const turn = turnOf('r1', 3, head);
          for (const write of [
            () => goOn('r1'),
            () => store.createRun(runOf('r1')),
            () => store.takeOver('r1', { runId: 'execution-2', after: undefined }),
            () => store.countTurnStart(turn),
            () => store.commitTurn(commitOf(turn, 'late')),
            () => store.finishRun('r1', endOf('failed')),
            () => store.applyLedger('r1/c3.0', eventsFor('r1', 'c3.0').claim('z')),
          ]) {
            await expect(write()).rejects.toMatchObject({ name: 'StoreError', code: 'collected' });
          }
        });

        test('goes with the next collection, however it stands and whatever the server says', async () => {
          await place.damage(`UPDATE runs SET status = 'running', updated_at_ms = ${String(Date.now() + 60_000)}`);
          const options = { closedRunsMs: 3_600_000, graceMs: 0, standing: standings({}) };
          const gone = { runs: [{ runKey: 'r1', workflowId: 'wf-r1' }], turns: 2, calls: 2, doubtful: [] };
          expect(await collect({ ...options, dryRun: true })).toMatchObject(gone);
          expect(await collect(options)).toMatchObject(gone);
          expect(await store.getRun('r1')).toBeUndefined();
          expect(await store.getTombstone('r1')).toMatchObject({ status: 'failed' });
          expect(await problems()).toEqual([]);
        });

        test('stays while somebody holds a call of it', async () => {
          await place.damage(`UPDATE calls SET lease_until_ms = ${String(Date.now() + 60_000)}`);
          expect(await collect(everything)).toMatchObject({ runs: [] });
        });
      });

      test('says what would go and changes nothing in a dry run', async () => {
        await converse('r1', 2);
        await store.finishRun('r1', endOf('completed'));
        await store.putBody(new Uint8Array(100));
        expect(await collect({ ...everything, dryRun: true })).toMatchObject({
          ...{ dryRun: true, turns: 2, calls: 2, nodes: 3, bodies: 1, bytes: 100 },
          runs: [{ workflowId: 'wf-r1' }],
        });
        expect(await store.getTombstone('r1')).toBeUndefined();
        expect(await checkStore(upkeep)).toMatchObject({ runs: 1, nodes: 3, bodies: 4, problems: [] });
      });

      test('keeps a conversation that another run shares', async () => {
        await converse('r1', 2, 'same task');
        const { head } = await store.createRun(runOf('r2', [{ role: 'user', text: 'same task' }]));
        await store.finishRun('r1', endOf('completed'));
        expect(await collect(everything)).toMatchObject({ runs: [{ runKey: 'r1' }], nodes: 2 });
        expect(await store.getChain(head)).toHaveLength(1);
        expect(await problems()).toEqual([]);
      });

      test('takes a sub-agent only with the run that asked for it', async () => {
        await store.createRun(runOf('r1'));
        await store.createRun({ ...runOf('child'), workflowId: 'wf-r1/c1.0' });
        await store.createRun({ ...runOf('grandchild'), workflowId: 'wf-r1/c1.0/c2.1' });
        for (const runKey of ['child', 'grandchild']) await store.finishRun(runKey, endOf('completed'));
        expect(await collect(everything)).toMatchObject({ runs: [] });
        await store.finishRun('r1', endOf('completed'));
        expect((await collect(everything)).runs.map(({ runKey }) => runKey).sort()).toEqual([
          'child',
          'grandchild',
          'r1',
        ]);
      });

      test('keeps a run that ended and is open all the same, or has a call that somebody holds', async () => {
        await converse('r1', 1);
        await converse('r2', 1);
        for (const runKey of ['r1', 'r2']) await store.finishRun(runKey, endOf('completed'));
        await store.applyLedger('held', eventsFor('r2', 'c9.0').claim('a', 60_000));
        const standing = standings({ 'wf-r1': { type: 'open' }, 'wf-r2': { type: 'unknown' } });
        expect(await collect({ ...everything, standing })).toMatchObject({ runs: [], doubtful: [] });
        expect((await collect(everything)).runs.map(({ runKey }) => runKey)).toEqual(['r1']);
      });

      test('takes a run that it takes for running where the server has closed it, by when that was', async () => {
        await converse('r1', 1);
        await runCall('r1', 'c2.0', 'long');
        await converse('r2', 1);
        const atMs = Date.now() - 1_000;
        const standing = standings({
          'wf-r1': { type: 'closed', as: 'terminated', atMs },
          'wf-r2': { type: 'open' },
        });
        const dry = await collect({ ...everything, standing, dryRun: true });
        const runs = [{ runKey: 'r1', workflowId: 'wf-r1', endedAtMs: atMs, closedAs: 'terminated' }];
        expect(dry).toMatchObject({ runs, turns: 1, calls: 2, doubtful: [] });
        expect(await collect({ ...everything, standing })).toMatchObject({ runs, turns: 1, calls: 2, doubtful: [] });
        expect(await store.getTombstone('r1')).toMatchObject({ workflowId: 'wf-r1', endedAtMs: atMs });
        expect(await store.getRun('r1')).toBeUndefined();
        expect(await store.getRun('r2')).toMatchObject({ status: 'running' });
        expect(await problems()).toEqual([]);
      });

      test('keeps a run for as long after its end as runs are kept, whoever says when that was', async () => {
        await converse('running', 1);
        await converse('ended', 1);
        await store.finishRun('ended', endOf('completed'));
        await place.damage('UPDATE runs SET updated_at_ms = 1');
        await place.damage('UPDATE calls SET updated_at_ms = 1');
        const closed = { type: 'closed', as: 'terminated', atMs: Date.now() - 50_000 } as const;
        const standing = standings({ 'wf-running': closed, 'wf-ended': closed });
        // The one that ended by its own account was reset, and terminated before it wrote anything.
        expect(await collect({ closedRunsMs: 60_000, graceMs: 0, standing })).toMatchObject({ runs: [], doubtful: [] });
        expect((await collect({ closedRunsMs: 40_000, graceMs: 0, standing })).runs).toHaveLength(2);
      });

      test('keeps a run that it takes for running and somebody has written of lately, or holds a call of', async () => {
        await converse('held', 1);
        await converse('written', 1);
        await store.applyLedger('held', eventsFor('held', 'c9.0').claim('a', 60_000));
        await place.damage("UPDATE runs SET updated_at_ms = 1 WHERE run_key = 'held'");
        await place.damage("UPDATE calls SET updated_at_ms = 1 WHERE run_key = 'held'");
        const closed = { type: 'closed', as: 'terminated', atMs: 1 } as const;
        const standing = standings({ 'wf-held': closed, 'wf-written': closed });
        expect(await collect({ closedRunsMs: 30_000, graceMs: 0, standing })).toMatchObject({ runs: [], doubtful: [] });
      });

      test('keeps a run that it takes for running while it is asked about, and goes on', async () => {
        await converse('r1', 1);
        const standing = async () => {
          await place.damage(`UPDATE runs SET updated_at_ms = ${String(Date.now() + 60_000)}`);
          return { type: 'closed', as: 'terminated', atMs: 1 } as const;
        };
        expect(await collect({ ...everything, standing })).toMatchObject({ runs: [] });
        expect(await store.getTombstone('r1')).toBeUndefined();
      });

      test('names runs that it takes for running and the server knows no more, and takes them on demand', async () => {
        await converse('r1', 1);
        await converse('r2', 1);
        const standing = standings({ 'wf-r1': { type: 'unknown' }, 'wf-r2': { type: 'open' } });
        const doubt = { runKey: 'r1', workflowId: 'wf-r1', writtenAtMs: expect.any(Number) as number };
        expect(await collect({ ...everything, standing })).toMatchObject({
          ...{ runs: [], doubtful: [{ ...doubt, why: 'forgotten' }] },
        });
        expect(await collect({ ...everything, standing, forgotten: true })).toMatchObject({
          runs: [{ workflowId: 'wf-r1', closedAs: 'forgotten' }],
          doubtful: [],
        });
      });

      test('takes none that it takes for running without anybody to ask, whatever is demanded', async () => {
        await converse('r1', 1);
        expect(await collect({ ...everything, forgotten: true })).toMatchObject({
          runs: [],
          doubtful: [{ workflowId: 'wf-r1', why: 'unasked' }],
        });
        expect(await collect({ ...onlyGarbage, forgotten: true })).toMatchObject({ runs: [], doubtful: [] });
      });

      test('keeps a sub-agent of a run that stays, whatever the server says of it', async () => {
        await store.createRun(runOf('r1'));
        await store.createRun({ ...runOf('child'), workflowId: 'wf-r1/c1.0' });
        for (const runKey of ['r1', 'child']) await store.finishRun(runKey, endOf('completed'));
        const closed = { type: 'closed', as: 'terminated', atMs: 1 } as const;
        const reset = standings({ 'wf-r1': { type: 'open' }, 'wf-r1/c1.0': closed });
        expect(await collect({ ...everything, standing: reset })).toMatchObject({ runs: [] });
        const standing = standings({ 'wf-r1': closed, 'wf-r1/c1.0': closed });
        expect((await collect({ ...everything, standing })).runs.map(({ runKey }) => runKey)).toEqual(['r1', 'child']);
      });

      test('takes bodies that nothing refers to, once they are past the grace age', async () => {
        const bodyId = await store.putBody(new Uint8Array([1, 2, 3]));
        expect(await collect({ closedRunsMs: null, graceMs: 3_600_000 })).toMatchObject({ bodies: 0 });
        expect(await collect(onlyGarbage)).toMatchObject({ bodies: 1, bytes: 3 });
        expect(await store.getBody(bodyId)).toBeUndefined();
      });

      test('takes what is written again for young, however old it was', async () => {
        const bodyId = await store.putBody(new Uint8Array([1, 2, 3]));
        await converse('r1', 1, 'same task');
        await store.finishRun('r1', endOf('completed'));
        await place.damage('UPDATE bodies SET touched_at_ms = 1');
        await place.damage('UPDATE nodes SET touched_at_ms = 1');
        await store.putBody(new Uint8Array([1, 2, 3]));
        const { head } = await store.createRun(runOf('r2', [{ role: 'user', text: 'same task' }]));
        await store.finishRun('r2', endOf('completed'));
        // The root was written again by r2, the answer was not.
        expect(await collect({ closedRunsMs: 0, graceMs: 3_600_000 })).toMatchObject({ nodes: 1, bodies: 1 });
        expect(await store.getNode(head)).toBeDefined();
        expect(await store.getBody(bodyId)).toBeDefined();
      });

      test('keeps what a node follows that is too young to go, however old that is', async () => {
        const [first = '', second = ''] = await converse('r1', 3);
        await store.finishRun('r1', endOf('completed'));
        await place.damage(
          `UPDATE nodes SET touched_at_ms = 1 WHERE parent IS NULL OR id IN ('${first}', '${second}')`,
        );
        const young = { closedRunsMs: 0, graceMs: 3_600_000 };
        expect(await collect({ ...young, dryRun: true })).toMatchObject({ runs: [{ runKey: 'r1' }], nodes: 0 });
        expect(await collect(young)).toMatchObject({ runs: [{ runKey: 'r1' }], nodes: 0 });
        expect(await problems()).toEqual([]);
        await place.damage('UPDATE nodes SET touched_at_ms = 1');
        expect(await collect(young)).toMatchObject({ nodes: 4 });
      });

      test('keeps bodies that a call, a turn or a conversation refers to', async () => {
        await store.createRun(runOf('r1'));
        const kept = [await runCall('r1', 'c1.0', 'result')];
        const args = await store.putBody(new TextEncoder().encode('{"a":1}'));
        const image = await store.putBody(new Uint8Array([9]));
        const turn = turnOf('r1', 1, (await store.getRun('r1'))?.head ?? '');
        const commit = commitOf(turn, 'x');
        const call = { runKey: 'r1', callId: 'c1.1', tool: 't', key: 'k', digest: 'd' };
        commit.result.calls = [{ status: 'ready', call: { ...call, arguments: { bodyId: args, preview: '' } } }];
        commit.messages.unshift({
          ...{
            role: 'tool',
            callId: 'c0.0',
            providerCallId: 'p',
            tool: 't',
            modelName: 't',
            content: '{}',
            failed: false,
          },
          attachments: [{ bodyId: image, mediaType: 'image/png', bytes: 1 }],
        });
        await store.commitTurn(commit);
        expect(await collect(everything)).toMatchObject({ bodies: 0 });
        for (const id of [...kept, args, image]) expect(await store.getBody(id)).toBeDefined();
      });

      test('harms neither a live run nor a zombie of a branch that was left, beside which it runs all the time', async () => {
        const live = await converse('live', 2);
        // The branch that a reset left behind: its turn was started, and its worker is still at it.
        const left = turnOf('live', 2, live[1] ?? '', { take: 1 });
        await store.countTurnStart(left);
        let isDone = false;
        const collections: Collection[] = [];
        const collecting = (async () => {
          while (!isDone) {
            collections.push(await collect({ closedRunsMs: 0, graceMs: 0 }));
            // On SQLite it blocks the thread, which in this test is the store's as well.
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
        })();
        let head = live.at(-1) ?? '';
        for (let step = 3; step <= 40; step += 1) {
          const turn = turnOf('live', step, head);
          await store.countTurnStart(turn);
          ({
            answer: { head },
          } = await store.commitTurn(commitOf(turn, `live ${String(step)}`)));
          // Runs that come and go, with the same words as the live one: their nodes are garbage and are written again.
          await converse(`short-${String(step)}`, 2, 'task of live');
          await store.finishRun(`short-${String(step)}`, endOf('completed'));
        }
        const { answer: zombie } = await store.commitTurn(commitOf(left, 'late'));
        isDone = true;
        await collecting;
        await collect(everything);
        expect(collections.reduce((sum, { runs }) => sum + runs.length, 0)).toBeGreaterThan(0);
        expect(await store.getChain(head)).toHaveLength(41);
        expect((await store.getChain(zombie.head)).at(-1)?.message).toEqual(assistant('late'));
        expect((await store.getRun('live'))?.head).toBe(head);
        expect(await checkStore(upkeep, { deep: true })).toMatchObject({ runs: 1, nodes: 42, problems: [] });
      }, 60_000);
    });

    test('measures what each kind and the biggest runs take', async () => {
      await converse('small', 1);
      await converse('big', 5);
      await runCall('big', 'c6.0', 'x'.repeat(1_000));
      const sizes = await measureStore(upkeep, { runs: 1 });
      const kinds = new Map(sizes.kinds.map(({ kind, rows, bytes }) => [kind, { rows, bytes }]));
      expect(kinds.get('runs')?.rows).toBe(2);
      expect(kinds.get('nodes')?.rows).toBe(8);
      expect(kinds.get('bodies')).toMatchObject({ rows: 9 });
      expect(kinds.get('bodies')?.bytes).toBeGreaterThan(1_002);
      expect(kinds.get('calls')?.rows).toBe(7);
      expect(sizes.fileBytes).toBeGreaterThan(0);
      expect(sizes.biggestRuns).toMatchObject([{ runKey: 'big', workflowId: 'wf-big', turns: 5, calls: 6 }]);
      expect(sizes.biggestRuns[0]?.bytes).toBeGreaterThan(1_000);
    });
  });
}
