/**
 * The one exception of docs/guarantees.md, provoked and counted: a process that is suspended between an attempt's last check
 * and its send, and wakes up when another has decided how the call ended.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CrashBench, until, type CrashRun, type CrashWorker } from '../support/crash-bench.js';
import { classOf } from '../support/endings.js';
import type { OracleLine } from '../support/oracle.js';
import { Random } from './random.js';

/** What is stalled: a tool, and whether its process has an open connection to the backend, so that its send is one write. */
export const stalledSends = [
  { tool: 'once', connected: false },
  { tool: 'once', connected: true },
  { tool: 'once_fenced', connected: true },
  { tool: 'keyed', connected: true },
] as const;
export type StalledSend = (typeof stalledSends)[number];

export interface StallFigures {
  send: StalledSend;
  stalls: number;
  /** How often the calls ended how, before the stalled process woke up. */
  ended: Record<string, number>;
  /** Calls whose stalled request arrived after another had decided. */
  lateRequests: number;
  /** Calls on which that request had an effect. */
  lateEffects: number;
  /** Calls whose effect happened more than once. */
  effectsTwice: number;
}

/** Short, because every stall lasts longer: lease and grace, and what another needs to decide. */
const heartbeatTimeoutMs = 1_000;
const mostExtraMs = 1_500;
/** For a request that goes out at all; it needs milliseconds, on a busy machine some more. */
const lateWaitMs = 1_000;
const mostDecisionMs = 30_000;

type Sleeper = CrashWorker & { cut(): void };

interface Stall {
  key: string;
  ended: string;
  /** When the stalled process was woken up. */
  wokenAtMs: number;
}

/** Stalls each kind of send so many times. How much longer than it must each stall lasts is from the seed. */
export async function measureStalls(options: {
  stalls: number;
  seed: number;
  server: { address: string; namespace: string };
  progress?: (line: string) => void;
}): Promise<StallFigures[]> {
  const { stalls, seed, server, progress } = options;
  return await Promise.all(
    stalledSends.map(async (send, index) => {
      await using bench = await CrashBench.open({ server });
      const random = new Random(seed + index);
      const workers = await Promise.all(
        [0, 1].map(() => bench.onWire([], { heartbeatTimeoutMs, breakerCoolDownMs: 1 })),
      );
      const found: Stall[] = [];
      while (found.length < stalls) {
        found.push(await stallOnce(bench, workers, send, random.integer(0, mostExtraMs)));
        progress?.(`${wordsOf(send)}: ${found.length} of ${stalls} stalls`);
      }
      return count(send, found, bench.oracle.logPath);
    }),
  );
}

/** Whichever worker gets the call stops at the line of its body that sends; the other decides. */
async function stallOnce(bench: CrashBench, workers: Sleeper[], send: StalledSend, extraMs: number): Promise<Stall> {
  const { tool, connected } = send;
  const said = workers.map(({ log }) => log.length);
  for (const worker of workers) worker.arm([{ at: 'in-body', tool, action: 'stop' }]);
  const run = await bench.runCalls({ tool, input: { connected } });
  const hasStopped = (worker: Sleeper, index: number): boolean =>
    worker.log.slice(said[index]).includes('failpoint in-body');
  await until(() => workers.some(hasStopped), 'a worker has stopped in the body');
  const stalled = workers.find(hasStopped);
  for (const worker of workers) {
    if (worker !== stalled) worker.arm([]);
  }
  stalled?.cut();
  const decided = await decision(run);
  await sleep(extraMs);
  const wokenAtMs = Date.now();
  stalled?.signal('SIGCONT');
  await sleep(lateWaitMs);
  return { ...decided, wokenAtMs };
}

/** Waits until another has decided how the run's only call ended. */
async function decision(run: CrashRun): Promise<{ key: string; ended: string }> {
  const giveUpAt = Date.now() + mostDecisionMs;
  for (;;) {
    const [call] = await run.calls();
    if (call?.row.outcome) return { key: call.row.key, ended: classOf(call.row.outcome) };
    if (Date.now() > giveUpAt) throw new Error(`${run.runKey}: nobody has decided how its stalled call ended`);
    await sleep(25);
  }
}

function count(send: StalledSend, stalls: Stall[], logPath: string): StallFigures {
  const lines = readFileSync(logPath, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as OracleLine);
  const figures = { send, stalls: stalls.length, ended: {}, lateRequests: 0, lateEffects: 0, effectsTwice: 0 };
  const ends: Record<string, number> = figures.ended;
  for (const { key, ended, wokenAtMs } of stalls) {
    const own = lines.filter((line) => line.key === key);
    const late = own.filter(({ atMs }) => atMs >= wokenAtMs);
    ends[ended] = (ends[ended] ?? 0) + 1;
    if (late.length > 0) figures.lateRequests += 1;
    if (late.some(({ effect }) => effect)) figures.lateEffects += 1;
    if (own.filter(({ effect }) => effect).length > 1) figures.effectsTwice += 1;
  }
  return figures;
}

function wordsOf({ tool, connected }: StalledSend): string {
  return connected ? `${tool}, connected` : tool;
}

/** As text, for a terminal. */
export function describeStalls(figures: StallFigures[], seed: number): string {
  const rows = figures.map(({ send, stalls, ended, lateRequests, lateEffects, effectsTwice }) => [
    wordsOf(send),
    `${stalls}`,
    Object.entries(ended)
      .map(([end, times]) => `${times} ${end}`)
      .join(', '),
    `${lateRequests}`,
    `${lateEffects}`,
    `${effectsTwice}`,
  ]);
  const table = [['tool', 'stalls', 'ended before', 'late requests', 'late effects', 'effects twice'], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0))) ?? [];
  return [
    ...table.map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    ),
    `seed ${seed}: npm run crash -- --stalls ${figures[0]?.stalls ?? 0} --seed ${seed}`,
  ].join('\n');
}
