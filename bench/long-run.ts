import { randomUUID } from 'node:crypto';
import { taskOf } from './perdure/task.ts';
import { databaseBytes, historyChain } from './sizes.ts';
import { StepCounter } from './step-counter.ts';
import type { Stage } from './stage.ts';
import { table } from './statistics.ts';
import { usageOf } from './usage.ts';
import type { HeldMemory } from './worker-process.ts';

interface Mark {
  atMs: number;
  workerCpuMs: number;
  serverCpuMs: number;
  storeBytes: number;
  /** After a collection: what is needed. V8 lets garbage lie for as long as the machine has memory. */
  held: HeldMemory;
}

const tenths = 10;
/** As docs/operations.md has a worker started, and so that it can be asked what it holds. */
const nodeArgs = ['--max-semi-space-size=8', '--expose-gc'];
const pollMs = 100;

/** One run of so many steps, across continue-as-new: whether its last tenth costs what its first did. */
export async function measureLongRun(stage: Stage, steps: number): Promise<void> {
  const worker = await stage.startPerdure({ nodeArgs });
  const workflowId = `long-${randomUUID()}`;
  const handle = await stage.client.workflow.start('agentRun', {
    workflowId,
    taskQueue: worker.taskQueue,
    args: [{ runKey: workflowId, task: taskOf('look_up', steps) }],
  });
  const mark = async (): Promise<Mark> => ({
    atMs: performance.now(),
    workerCpuMs: usageOf(worker.pid).cpuMs,
    serverCpuMs: usageOf(stage.server.pid).cpuMs,
    storeBytes: databaseBytes(stage.storePath),
    held: await worker.heldMemory(),
  });
  // The first steps compile code and fill caches; they belong to no tenth.
  const warmUp = Math.min(50, Math.floor(steps / 20));
  const counter = await StepCounter.open(stage.storePath, workflowId);
  const marks: Mark[] = [];
  for (let tenth = 0; tenth <= tenths; tenth += 1) {
    const target = tenth === 0 ? warmUp : Math.floor((steps * tenth) / tenths);
    await counter.reach(target, pollMs);
    marks.push(await mark());
    console.error(`${target} of ${steps} steps`);
  }
  counter.close();
  await handle.result();

  const stepsOf = (tenth: number) => steps / tenths - (tenth === 1 ? warmUp : 0);
  const perStep = (tenth: number, what: (mark: Mark) => number) => {
    const [before, after] = [marks[tenth - 1], marks[tenth]];
    return before && after ? (what(after) - what(before)) / stepsOf(tenth) : NaN;
  };
  const held = (tenth: number, what: (memory: HeldMemory) => number) => {
    const memory = marks[tenth]?.held;
    return memory ? what(memory) : NaN;
  };
  const history = await historyBytesAlong(stage, workflowId, steps);
  const rows: [string, (tenth: number) => number, number][] = [
    ['wall, ms a step', (tenth) => perStep(tenth, ({ atMs }) => atMs), 1],
    ['worker CPU, ms a step', (tenth) => perStep(tenth, ({ workerCpuMs }) => workerCpuMs), 1],
    ['server CPU, ms a step', (tenth) => perStep(tenth, ({ serverCpuMs }) => serverCpuMs), 1],
    ['store, bytes a step', (tenth) => perStep(tenth, ({ storeBytes }) => storeBytes), 0],
    ['history, bytes a step', history, 0],
    ['worker memory after a collection, MB', (tenth) => held(tenth, ({ residentMb }) => residentMb), 0],
    ['of it in use on the main heap, MB', (tenth) => held(tenth, ({ heapMb }) => heapMb), 1],
  ];
  console.log(
    `\n### One run of ${steps} steps\n\n` +
      table(
        ['', 'tenth 1', '2', '3', '4', '5', '6', '7', '8', '9', '10', 'last / first'],
        rows.map(([words, value, digits]) => [
          words,
          ...Array.from({ length: tenths }, (_, index) => value(index + 1).toFixed(digits)),
          (value(tenths) / value(1)).toFixed(2),
        ]),
      ),
  );
}

/** By tenth: bytes a step of the history in which the tenth's middle step lies. */
async function historyBytesAlong(stage: Stage, workflowId: string, steps: number): Promise<(tenth: number) => number> {
  const chain = await historyChain(stage.client, workflowId);
  let before = 0;
  const parts = chain.map(({ bytes, carriedSteps }) => {
    const upTo = carriedSteps ?? steps;
    const part = { upTo, bytesPerStep: bytes / (upTo - before) };
    before = upTo;
    return part;
  });
  return (tenth) => parts.find(({ upTo }) => upTo >= ((tenth - 0.5) / tenths) * steps)?.bytesPerStep ?? NaN;
}
