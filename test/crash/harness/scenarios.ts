/** Short runs with one fault each: what a planted bug is caught by, and what sound code comes through without a violation. */
import { setTimeout as sleep } from 'node:timers/promises';
import { resetWorkflow } from '../../support/reset-workflow.js';
import { until, type CrashBench, type CrashRun, type CrashWorker } from '../support/crash-bench.js';
import type { Failpoint, Moment } from '../support/failpoints.js';
import { Witnesses } from './evidence.js';
import { checkLaws, type Violation } from './laws.js';
import { programOf, type PlainTool, type Program } from './program.js';
import { checkReplays } from './replays.js';

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

async function judge({ bench, bundlePath }: Scene, program: Program): Promise<Violation[]> {
  await using witnesses = await Witnesses.open(bench);
  const evidence = await witnesses.ask({ program, workflowId: program.name, cancelled: false });
  return [...checkLaws(evidence), ...(await checkReplays([evidence], bundlePath))];
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
    return await judge(scene, program);
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
    return await judge(scene, program);
  };
}

/** A backend that does it and answers 500, each time. */
export function failing(tool: PlainTool, end: { ended: string; starts: number; effects: number }): Scenario {
  return async (scene) => {
    const backend = Array.from({ length: 12 }, () => ({ answer: '500' }) as const);
    const program = programOf(name(scene), [[{ tool, ...end, backend }]]);
    await worker(scene);
    await ended(scene, await scene.bench.start(program.name, program.script));
    return await judge(scene, program);
  };
}

/** A worker stops at that moment, another takes over and is in the body when the first wakes up. */
export function wokenBeside(at: Moment, tool: PlainTool): Scenario {
  return async (scene) => {
    const { bench } = scene;
    const program = programOf(name(scene), [[{ tool, ...once }]]);
    await bench.oracle.mode(tool, { type: 'hold', times: 1 });
    const sleeper = await sleeperAt(scene, at, tool);
    const run = await bench.start(program.name, program.script);
    await sleeper.stopped();
    await worker(scene);
    await until(async () => (await bench.oracle.held()) === 1, 'the backend holds the other’s request');
    sleeper.signal('SIGCONT');
    // As long as it may take to send what it must not send; on a busy machine a process wakes up slowly.
    for (const giveUpAt = Date.now() + 6_000; Date.now() < giveUpAt; await sleep(50)) {
      if ((await bench.oracle.arrivals(tool)).length > 1) break;
    }
    await bench.oracle.release();
    sleeper.signal('SIGKILL');
    await ended(scene, run);
    return await judge(scene, program);
  };
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
    return await judge(scene, program);
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
    return await judge(scene, program);
  };
}

/** Long enough to be continued as new, on a server that suggests it early. */
export const continuedAsNew: Scenario = async (scene) => {
  const program = programOf(
    name(scene),
    Array.from({ length: 6 }, () => [{ tool: 'keyed', ...once }] as const).map((step) => [...step]),
  );
  await worker(scene);
  await ended(scene, await scene.bench.start(program.name, program.script));
  return await judge(scene, program);
};
