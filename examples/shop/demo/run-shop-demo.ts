import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Faults } from '../backend/faults.ts';
import { readEffectCounts } from '../backend/journal.ts';
import { checkEffects, type CheckedEffect } from './expected-effects.ts';
import { defaultKills, momentInWords, type Kill, type Scene } from './kills.ts';
import type { StepStory } from './run-story.ts';
import { shopAdmin } from './shop-admin.ts';
import { Stage } from './stage.ts';

export const task =
  'Maya Lindqvist (maya.lindqvist@example.com) does not want what she ordered recently. Find her orders of the last ' +
  '60 days. Cancel what has not shipped; where that is refused, ask for a return. Refund what she paid for them, print ' +
  'a label for each return, and write her one message that sums up what was done.';

export interface ShopDemoOptions {
  /** Folder that holds `.perdure/`, where server, store and shop keep their state. Default: the example's folder. */
  rootDir?: string;
  /** What is killed, in this order. Default: the worker, when the first refund is committed and not yet answered. */
  kills?: readonly Kill[];
  /** How the shop misbehaves, besides or instead of what it does by itself (`demoFaults`). */
  faults?: Partial<Faults>;
  /** `provider:model` instead of the scripted one. */
  model?: string;
  /** Aborted, it ends everything that was started; the demo then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Receives what happens, a line at a time. */
  log?(line: string): void;
  /** Called when the run is over and everything still runs. */
  beforeEnd?(result: ShopDemoResult): Promise<void>;
}

export interface ShopDemoResult {
  runId: string;
  /** How the run ended, e.g. `completed`; `running` where it did not. */
  state: string;
  answer: string;
  steps: StepStory[];
  /** What happened in the shop, read from its database. */
  effects: CheckedEffect[];
  /** Kills that were carried out. */
  kills: Kill[];
  /** `host:port` of the Temporal server. */
  serverAddress: string;
  /** perdure's store. */
  storePath: string;
  /** The run in the Temporal UI. */
  uiUrl: string | undefined;
  /** What shop, server and worker wrote. */
  logPath: string;
}

/**
 * Runs the demo's task against a real shop on a real Temporal server, and kills what it is told to kill. Ends everything
 * it started, whatever happens. Rejects where something could not be started, or ended by itself.
 */
export async function runShopDemo(options: ShopDemoOptions = {}): Promise<ShopDemoResult> {
  const { log = () => undefined, signal = new AbortController().signal } = options;
  signal.throwIfAborted();
  const rootDir = options.rootDir ?? resolve(import.meta.dirname, '..');
  const stage = await Stage.open({ rootDir, log, faults: options.faults ?? {} });
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([perform(stage, options, log), stage.broken, aborted]);
  } finally {
    await stage.close();
  }
}

async function perform(stage: Stage, options: ShopDemoOptions, log: (line: string) => void): Promise<ShopDemoResult> {
  const runId = `shop-${randomBytes(3).toString('hex')}`;
  log(`shop ${stage.shopUrl}`);
  log(`Temporal server ${stage.serverAddress}`);
  const uiUrl = stage.uiUrl(runId);
  if (uiUrl !== undefined) log(`Temporal UI ${uiUrl}`);
  stage.startWorker();

  const over = new AbortController();
  const scene = { runId, shopUrl: stage.shopUrl, storePath: stage.storePath };
  const kills = killInTurn({ stage, scene, kills: options.kills ?? defaultKills, over: over.signal });
  const model = options.model === undefined ? [] : ['--model', options.model];
  const tell = (line: string) => log(line.replace(/\bperdure (?=show )/, 'npm run shop -- '));
  const run = stage.perdure(['run', '--id', runId, '--follow', ...model, task], tell).finally(() => over.abort());
  const [carriedOut] = await Promise.all([kills, run]);

  const shown = await stage.perdure(['show', runId, '--json'], log);
  if (shown.exitCode !== 0) throw new Error(`the run ${runId} is not known; see ${stage.logPath}`);
  const description = JSON.parse(shown.stdout) as {
    state: string;
    steps: StepStory[];
    result?: { answer: string };
  };
  const result: ShopDemoResult = {
    runId,
    state: description.state,
    answer: description.result?.answer ?? '',
    steps: description.steps,
    effects: checkEffects(readEffectCounts(stage.shopDbPath)),
    kills: carriedOut,
    serverAddress: stage.serverAddress,
    storePath: stage.storePath,
    uiUrl,
    logPath: stage.logPath,
  };
  await options.beforeEnd?.(result);
  return result;
}

interface Killing {
  stage: Stage;
  scene: Scene;
  /** Aborted when the run is over. */
  over: AbortSignal;
}

/** Carries out one kill after the other until the run is over. Returns those that came to pass. */
async function killInTurn({ stage, scene, kills, over }: Killing & { kills: readonly Kill[] }): Promise<Kill[]> {
  const carriedOut: Kill[] = [];
  for (const kill of kills) {
    if (!(await momentOf(kill, { stage, scene, over }))) break;
    if (kill.what === 'server') {
      await stage.restartServer(momentInWords(kill));
    } else {
      await stage.killWorker(momentInWords(kill));
      stage.startWorker();
    }
    await shopAdmin(stage.shopUrl).releaseAll();
    carriedOut.push(kill);
  }
  return carriedOut;
}

/** Waits for the moment; false where the run was over before. */
async function momentOf(kill: Kill, { stage, scene, over }: Killing): Promise<boolean> {
  if ('reached' in kill) {
    const ended = new Promise<void>((resolve) => over.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([kill.reached(scene, over), ended]).catch((error: unknown) => {
      if (!over.aborted) throw error;
    });
    return !over.aborted;
  }
  if ('afterMs' in kill) {
    await sleep(kill.afterMs, undefined, { signal: over }).catch(() => undefined);
    return !over.aborted;
  }
  const admin = shopAdmin(stage.shopUrl);
  await admin.hold(kill.operation, kill.moment);
  if (!(await admin.waitForHeld(over))) return false;
  await sleep(kill.heldMs ?? 0);
  return true;
}
