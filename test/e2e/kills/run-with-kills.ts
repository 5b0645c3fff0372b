import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { expect } from 'vitest';
import type { Kill } from '../../../examples/shop/demo/kills.js';
import { runShopDemo, type ShopDemoOptions, type ShopDemoResult } from '../../../examples/shop/demo/run-shop-demo.js';
import type { Outcome } from '../../../src/contract/call.js';
import type { TranscriptMessage } from '../../../src/contract/transcript.js';
import { openSqliteStore } from '../../../src/store/sqlite-store.js';
import type { CallRecord } from '../../../src/store/records.js';
import { temporaryFolder } from '../../examples/shop/backend/shop-client.js';
import { lookAt, type Look } from './moments.js';
import '../../support/quiet-runtime.js';

/** The workflow code that the demo's workers run. */
const codePath = fileURLToPath(new URL('../../../dist/workflow-bundle.js', import.meta.url));

/** What a demo with kills left behind. */
export interface Aftermath {
  /** Each call of that tool that ran, with its outcome. */
  callsOf(tool: string): CallRecord[];
  outcomesOf(tool: string): Outcome[];
  /** How often each effect happened: `payment_refunded 1042: 1`. */
  effects: Record<string, number>;
  answer: string;
  /** Identities of the workers that were killed. */
  killedWorkers: string[];
  /** What the demo said, line by line. */
  lines: string[];
}

/**
 * Runs the demo with these kills, and expects what no kill may change: that all of them came to pass, the run is
 * completed, every call has one outcome that the model was told once, no effect happened twice, one that is missing is
 * told as unknown, and the history replays.
 */
export async function runWithKills(
  options: Pick<ShopDemoOptions, 'faults' | 'model'> & { kills: readonly Kill[] },
): Promise<Aftermath> {
  const lines: string[] = [];
  const startedAt = performance.now();
  const log = (line: string) => lines.push(`${((performance.now() - startedAt) / 1000).toFixed(1)} s  ${line}`);
  const demo = { ...options, rootDir: temporaryFolder(), log, beforeEnd: expectReplay };
  const result = await runShopDemo(demo).catch((error: unknown) => {
    throw new Error(`the demo broke; it said\n${lines.join('\n')}`, { cause: error });
  });
  const story = lines.join('\n');
  expect(result.kills, story).toEqual(options.kills);
  expect(result.state, story).toBe('completed');
  const { look, messages } = await recordOf(result);
  expectOneOutcomeEach(look, messages);
  expectEffectsOnce(result, look);
  return {
    callsOf: (tool) => look.calls.filter(({ row }) => row.tool === tool && row.starts > 0),
    outcomesOf: (tool) => look.calls.flatMap(({ row }) => (row.tool === tool && row.outcome ? [row.outcome] : [])),
    effects: Object.fromEntries(result.effects.map(({ kind, subject, times }) => [`${kind} ${subject}`, times])),
    answer: result.answer,
    killedWorkers: lines.flatMap((line) => {
      const pid = /^\S+ s {2}worker (\d+) killed/.exec(line)?.[1];
      return pid === undefined ? [] : [`${pid}@${hostname()}`];
    }),
    lines,
  };
}

async function recordOf({ storePath, runId }: ShopDemoResult): Promise<{ look: Look; messages: TranscriptMessage[] }> {
  const store = await openSqliteStore({ path: storePath });
  try {
    const look = await lookAt(store, runId);
    if (!look) throw new Error(`the store ${storePath} does not know the run ${runId}`);
    return { look, messages: (await store.getChain(look.run.head)).map(({ message }) => message) };
  } finally {
    await store.close();
  }
}

/** In the store; and in the conversation, before the model's next turn and in the order of its calls. */
function expectOneOutcomeEach({ calls, turns }: Look, messages: readonly TranscriptMessage[]): void {
  const asked = turns.flatMap(({ result }) => result.calls.map((call) => (call.status === 'ready' ? call.call : call)));
  const askedIds = asked.map(({ callId }) => callId);
  expect(new Set(askedIds).size).toBe(askedIds.length);
  expect(calls.map(({ row }) => [row.callId, row.outcome !== undefined])).toEqual(askedIds.map((id) => [id, true]));
  expect(calls.filter(({ row }) => row.token !== undefined || row.begun)).toEqual([]);

  const rendered = new Map(calls.map(({ row, rendered }) => [row.callId, rendered?.content]));
  const told = messages.flatMap((message, at) => {
    if (message.role !== 'assistant') return [];
    const answers = messages.slice(at + 1, at + 1 + message.calls.length);
    expect(answers.map((one) => (one.role === 'tool' ? one.callId : one.role))).toEqual(
      message.calls.map(({ callId }) => callId),
    );
    return answers;
  });
  expect(messages.filter(({ role }) => role === 'tool')).toEqual(told);
  for (const message of told) {
    if (message.role === 'tool') expect(message.content).toBe(rendered.get(message.callId));
  }
}

const effectOf: Record<string, string> = { label_printed: 'print_return_label' };

/** Once each; only an effect whose call has an unknown outcome may be missing. */
function expectEffectsOnce({ effects }: ShopDemoResult, { calls }: Look): void {
  const unknown = new Set(
    calls.flatMap(({ row }) => {
      const failure = row.outcome && 'failure' in row.outcome ? row.outcome.failure : undefined;
      return failure?.class === 'outcome_unknown' ? [row.tool] : [];
    }),
  );
  const wrong = effects.filter(({ right, times, kind }) => {
    return !right && !(times === 0 && unknown.has(effectOf[kind] ?? ''));
  });
  expect(wrong).toEqual([]);
  // A tool that is to act once is started once, whatever became of it.
  expect(calls.filter(({ row }) => row.effect.kind === 'once' && row.starts > 1)).toEqual([]);
}

async function expectReplay({ serverAddress, runId }: ShopDemoResult): Promise<void> {
  const connection = await Connection.connect({ address: serverAddress });
  try {
    const history = await new Client({ connection }).workflow.getHandle(runId).fetchHistory();
    await Worker.runReplayHistory({ workflowBundle: { codePath } }, history, runId);
  } finally {
    await connection.close();
  }
}
