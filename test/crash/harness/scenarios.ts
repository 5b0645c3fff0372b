/** Short runs with one fault each: what a planted bug is caught by, and what sound code comes through without a violation. */
import { setTimeout as sleep } from 'node:timers/promises';
import { resetWorkflow } from '../../support/reset-workflow.js';
import { until, type CrashBench, type CrashRun, type CrashWorker } from '../support/crash-bench.js';
import type { Failpoint, Moment } from '../support/failpoints.js';
import { judge } from './judge.js';
import type { Violation } from './laws.js';
import { programOf, type PlainTool, type Program } from './program.js';

/** A place to run in: the bench, and the workflows that its workers run. */
export interface Scene {
  bench: CrashBench;
  bundlePath: string;
}

export type Scenario = (scene: Scene) => Promise<Violation[]>;

const once = { starts: 1, effects: 1, ended: 'succeeded' } as const;

function worker({ bench, bundlePath }: Scene, failpoints: Failpoint[] = []): Promise<CrashWorker> {
  return bench.worker(failpoints, { bundlePath, toolTimeoutMs: 4_000 });
}

function sleeperAt({ bench, bundlePath }: Scene, at: Moment, tool: PlainTool): ReturnType<CrashBench['sleeper']> {
  return bench.sleeper({ at, tool, action: 'stop' }, { bundlePath, toolTimeoutMs: 4_000 });
}

async function broken(
  { bench, bundlePath }: Scene,
  program: Program,
  { workflowId = program.name, cancelled = false } = {},
): Promise<Violation[]> {
  return (await judge(bench, { program, workflowId, cancelled }, bundlePath)).violations;
}

const mostRunMs = 30_000;

/** To the newest execution's end; one that never comes is for the laws to see. */
async function ended({ bench }: Scene, run: CrashRun): Promise<void> {
  const closed = async (): Promise<boolean> => {
    const { status } = await bench.client.workflow.getHandle(run.handle.workflowId).describe();
    return status.name !== 'RUNNING' && status.name !== 'CONTINUED_AS_NEW';
  };
  const giveUpAt = Date.now() + mostRunMs;
  while (Date.now() < giveUpAt && !(await closed())) await sleep(50);
}

function name(scene: Scene): string {
  return `scenario-${scene.bench.taskQueue}`;
}

/** Nothing happens to it. */
export function undisturbed(...tools: PlainTool[]): Scenario {
  return async (scene) => {
    const program = programOf(name(scene), [tools.map((tool) => ({ tool, ...once })), [{ tool: 'read', ...once }]]);
    await worker(scene);
    await ended(scene, await scene.bench.start(program.name, program.script));
    return await broken(scene, program);
  };
}

/** Its worker dies at that moment, and another goes on. */
export function killedAt(
  at: Moment,
  tool: PlainTool,
  end: { ended: string; starts: number; effects: number },
): Scenario {
  return async (scene) => {
    const program = programOf(name(scene), [[{ tool, ...end }]]);
    const doomed = await worker(scene, [{ at, tool, action: 'kill' }]);
    const run = await scene.bench.start(program.name, program.script);
    await doomed.ended();
    await worker(scene);
    await ended(scene, run);
    return await broken(scene, program);
  };
}

/** A backend that does it and answers 500, each time. */
export function failing(tool: PlainTool, end: { ended: string; starts: number; effects: number }): Scenario {
  return async (scene) => {
    const backend = Array.from({ length: 12 }, () => ({ answer: '500' }) as const);
    const program = programOf(name(scene), [[{ tool, ...end, backend }]]);
    await worker(scene);
    await ended(scene, await scene.bench.start(program.name, program.script));
    return await broken(scene, program);
  };
}

/**
 * A run that two servers go on with, as after a failover that left the old one alive: here two workflows that are one run.
 * Its call has two attempts, both alive and both wanted by whoever is asked; nothing but the lease keeps them apart. One
 * waits where its start is to be counted, until its lease has lapsed and the other is in the body.
 */
export function attemptedTwiceAtOnce(tool: PlainTool): Scenario {
  return async (scene) => {
    const { bench } = scene;
    const program = programOf(name(scene), [[{ tool, ...once }]]);
    await bench.oracle.mode(tool, { type: 'hold', times: 1 });
    const both = await worker(scene, [{ at: 'confirmed', tool, action: 'pause' }]);
    const run = await bench.start(program.name, program.script);
    await both.reached('failpoint confirmed');
    const twin = await bench.start(program.name, program.script, { workflowId: `${program.name}-twin` });
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the request of the second');
    both.resume();
    // What it sends is not held.
    const sends = async (): Promise<boolean> => (await bench.oracle.arrivals(tool)).length > 0;
    await until(async () => (await sends()) || (await isTriedAgain(run)), 'the first has sent, or has been refused');
    await bench.oracle.release();
    await ended(scene, run);
    await ended(scene, twin);
    return [
      ...(await broken(scene, program)),
      ...(await broken(scene, program, { workflowId: twin.handle.workflowId })),
    ];
  };
}

async function isTriedAgain({ handle }: CrashRun): Promise<boolean> {
  const { raw } = await handle.describe();
  return raw.pendingActivities?.some(({ attempt }) => (attempt ?? 1) > 1) ?? false;
}

/** A worker stops with the answer in hand, and wakes up when the run has ended without it. */
export function wokenAfterwards(tool: PlainTool): Scenario {
  return async (scene) => {
    const program = programOf(name(scene), [[{ tool, ended: 'outcome_unknown', starts: 1, effects: 1 }]]);
    const sleeper = await sleeperAt(scene, 'answered', tool);
    const run = await scene.bench.start(program.name, program.script);
    await sleeper.stopped();
    await worker(scene);
    await ended(scene, run);
    sleeper.signal('SIGCONT');
    await sleep(1_500);
    return await broken(scene, program);
  };
}

/** The run has ended and is reset to its beginning. */
export function resetAfterwards(tool: PlainTool): Scenario {
  return async (scene) => {
    const { client } = scene.bench;
    const program = programOf(name(scene), [[{ tool, ...once }]]);
    await worker(scene);
    const run = await scene.bench.start(program.name, program.script);
    await ended(scene, run);
    await resetWorkflow(client, program.name, 'start');
    await ended(scene, run);
    return await broken(scene, program);
  };
}

/** Long enough to be continued as new, on a server that suggests it early. */
function longProgram(scene: Scene): Program {
  return programOf(
    name(scene),
    Array.from({ length: 6 }, () => [{ tool: 'keyed', ...once } as const]),
  );
}

export const continuedAsNew: Scenario = async (scene) => {
  const program = longProgram(scene);
  await worker(scene);
  await ended(scene, await scene.bench.start(program.name, program.script));
  return await broken(scene, program);
};

/** Somebody cancels it when its worker has decided to continue as new, and the server has not heard of that yet. */
export const cancelledAtContinueAsNew: Scenario = async (scene) => {
  const program = longProgram(scene);
  const only = await worker(scene, [{ at: 'continue-as-new', action: 'stop' }]);
  const run = await scene.bench.start(program.name, program.script);
  await only.reached('failpoint continue-as-new');
  await run.handle.cancel();
  only.signal('SIGCONT');
  await ended(scene, run);
  return await broken(scene, program, { cancelled: true });
};
