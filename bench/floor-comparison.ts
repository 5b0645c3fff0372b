import { randomUUID } from 'node:crypto';
import { taskOf } from './perdure/task.ts';
import { databaseBytes, historyOf } from './sizes.ts';
import type { Stage } from './stage.ts';
import { spread, table } from './statistics.ts';
import { usageOf } from './usage.ts';
import type { WorkerProcess } from './worker-process.ts';

export interface Shape {
  rounds: number;
  /** One run of so many steps. */
  alone: number;
  /** So many runs at once, of so many steps each. */
  many: { runs: number; steps: number };
}

interface Contender {
  name: string;
  worker: WorkerProcess;
  start(workflowId: string, steps: number): Promise<{ result(): Promise<unknown> }>;
}

/** One contender's figures in one round, by step. */
interface Sample {
  wallMs: number;
  workerCpuMs: number;
  serverCpuMs: number;
  historyBytes: number;
  storedBytes: number;
  stepsPerSecond: number;
  workerMb: number;
}

type Figure = keyof Sample;

const figures: { figure: Figure; words: string; digits: number }[] = [
  { figure: 'wallMs', words: 'wall, ms a step', digits: 1 },
  { figure: 'stepsPerSecond', words: 'steps/s', digits: 1 },
  { figure: 'workerCpuMs', words: 'worker CPU, ms a step', digits: 1 },
  { figure: 'serverCpuMs', words: 'server CPU, ms a step', digits: 1 },
  { figure: 'historyBytes', words: 'history, bytes a step', digits: 0 },
  { figure: 'storedBytes', words: 'stored in all, bytes a step', digits: 0 },
  { figure: 'workerMb', words: 'worker memory, MB', digits: 0 },
];

/**
 * perdure against the floor: both on the same server, one after the other in each round, the order turned from round to
 * round. Ratios are taken within a round, where the machine was the same; their median counts.
 */
export async function compareWithFloor(stage: Stage, shape: Shape): Promise<void> {
  const contenders = await enter(stage);
  // Compiled code, filled caches and open connections are not what is compared.
  for (const contender of contenders) await race(stage, contender, { runs: 4, steps: 10 });

  const alone = new Map<string, Sample[]>();
  const many = new Map<string, Sample[]>();
  for (let round = 0; round < shape.rounds; round += 1) {
    const order = round % 2 === 0 ? contenders : contenders.toReversed();
    for (const contender of order) {
      add(alone, contender, await race(stage, contender, { runs: 1, steps: shape.alone }));
    }
    for (const contender of order) add(many, contender, await race(stage, contender, shape.many));
    console.error(`round ${round + 1} of ${shape.rounds} done`);
  }
  console.log(`\n### One run of ${shape.alone} steps\n\n${compared(alone)}`);
  console.log(`\n### ${shape.many.runs} runs at once, ${shape.many.steps} steps each\n\n${compared(many)}`);
}

async function enter(stage: Stage): Promise<Contender[]> {
  const [floor, perdure] = [await stage.startFloor(), await stage.startPerdure()];
  const { client } = stage;
  const agent = (name: string, tool: 'look_up' | 'charge'): Contender => ({
    name,
    worker: perdure,
    start: (workflowId, steps) =>
      client.workflow.start('agentRun', {
        workflowId,
        taskQueue: perdure.taskQueue,
        args: [{ runKey: workflowId, task: taskOf(tool, steps) }],
      }),
  });
  return [
    {
      name: 'floor',
      worker: floor,
      start: (workflowId, steps) =>
        client.workflow.start('floor', { workflowId, taskQueue: floor.taskQueue, args: [{ steps, done: 0 }] }),
    },
    agent('perdure, read', 'look_up'),
    agent('perdure, keyed effect', 'charge'),
  ];
}

async function race(stage: Stage, contender: Contender, of: { runs: number; steps: number }): Promise<Sample> {
  const { worker } = contender;
  const ids = Array.from({ length: of.runs }, () => `bench-${randomUUID()}`);
  const stored = () => databaseBytes(stage.serverDbPath) + databaseBytes(stage.storePath);
  const before = { worker: usageOf(worker.pid), server: usageOf(stage.server.pid), stored: stored() };
  const startedAt = performance.now();
  await Promise.all(ids.map(async (id) => await (await contender.start(id, of.steps)).result()));
  const elapsedMs = performance.now() - startedAt;
  const after = { worker: usageOf(worker.pid), server: usageOf(stage.server.pid), stored: stored() };

  const steps = of.runs * of.steps;
  const histories = await Promise.all(ids.map((id) => historyOf(stage.client, id)));
  return {
    wallMs: elapsedMs / steps,
    stepsPerSecond: (steps / elapsedMs) * 1_000,
    workerCpuMs: (after.worker.cpuMs - before.worker.cpuMs) / steps,
    serverCpuMs: (after.server.cpuMs - before.server.cpuMs) / steps,
    historyBytes: histories.reduce((sum, { bytes }) => sum + bytes, 0) / steps,
    storedBytes: (after.stored - before.stored) / steps,
    workerMb: after.worker.memoryMb,
  };
}

function add(samples: Map<string, Sample[]>, { name }: Contender, sample: Sample): void {
  samples.set(name, [...(samples.get(name) ?? []), sample]);
}

function compared(samples: ReadonlyMap<string, Sample[]>): string {
  const [[floorName, floor] = ['', []], ...others] = [...samples];
  const rows = figures.map(({ figure, words, digits }) => [
    words,
    spread(valuesOf(floor, figure), digits),
    ...others.flatMap(([, rounds]) => [
      spread(valuesOf(rounds, figure), digits),
      spread(
        rounds.map((sample, round) => sample[figure] / (floor[round]?.[figure] ?? NaN)),
        2,
      ),
    ]),
  ]);
  return table(['', floorName, ...others.flatMap(([name]) => [name, '× floor'])], rows);
}

function valuesOf(samples: Sample[], figure: Figure): number[] {
  return samples.map((sample) => sample[figure]);
}
