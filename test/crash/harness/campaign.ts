/** Runs under fire: programs from a seed, workers that die, and the witnesses asked at the end. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { Perdure } from '../../../src/client/perdure-client.js';
import { PerdureError } from '../../../src/client/perdure-error.js';
import { startDevServer, type DevServer } from '../../../src/server/dev-server.js';
import { perdureOf } from '../../support/perdure-of.js';
import { CrashBench, workflowBundle } from '../support/crash-bench.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { Witnesses, type RunEvidence } from './evidence.js';
import { strikeUntil } from './killer.js';
import { checkLaws, type Violation } from './laws.js';
import { isServerAway } from './operations.js';
import { makeProgram, type Program } from './program.js';
import { Random } from './random.js';
import { checkReplays } from './replays.js';
import { Strikes, type Strike } from './strikes.js';
import { WorkerSlot } from './worker-slot.js';

export interface CampaignOptions {
  seed: number;
  /** Processes to be killed, at least. */
  kills: number;
  /** Called about every ten seconds, with one line. */
  progress?: (line: string) => void;
}

export interface CampaignReport {
  seed: number;
  kills: number;
  strikes: Strike[];
  runs: RunEvidence[];
  violations: Violation[];
  /** From the last fault's end to the last run's, milliseconds. */
  healMs: number;
  elapsedMs: number;
  notes: string[];
}

const slots = 3;
const openRuns = 6;
/** So low that most programs are continued as new. */
const suggestContinueAsNewAt = 40;
/** Of any activity here: twice a tool's deadline, and the overhead. */
const longestTimeoutMs = 2 * 2_500 + 30_000;
export const mostHealMs = 120_000 + longestTimeoutMs;

interface StartedRun {
  program: Program;
  workflowId: string;
  cancelled: boolean;
  /** Whoever cancelled it has it go on when it has ended. */
  goesOn: boolean;
  ended: boolean;
}

/** Throws where the harness itself fails; what the product does wrong is in the report. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const startedAtMs = Date.now();
  const rootDir = await mkdtemp(join(tmpdir(), 'perdure-crash-campaign-'));
  const dynamicConfig = { 'limit.historyCount.suggestContinueAsNew': suggestContinueAsNewAt };
  const server: { now: DevServer } = { now: await startDevServer({ rootDir, dynamicConfig }) };
  try {
    const port = Number(server.now.address.split(':')[1]);
    const restartServer = async (): Promise<void> => {
      process.kill(server.now.pid, 'SIGKILL');
      await server.now.ended;
      server.now = await startDevServer({ rootDir, dynamicConfig, port });
    };
    await using bench = await CrashBench.open({ server: server.now });
    await using campaign = await Campaign.open(bench, { ...options, port, restartServer });
    const healMs = await campaign.run();
    const { runs, violations } = await campaign.judge();
    const { kills, all, notes } = campaign.strikes;
    const elapsedMs = Date.now() - startedAtMs;
    return { seed: options.seed, kills, strikes: all, runs, violations, healMs, elapsedMs, notes };
  } finally {
    await server.now.stop();
    await rm(rootDir, { recursive: true, force: true });
  }
}

class Campaign implements AsyncDisposable {
  readonly strikes = new Strikes();
  readonly #bench: CrashBench;
  readonly #options: CampaignOptions & { restartServer(): Promise<void> };
  readonly #programs: Random;
  readonly #faults: Random;
  readonly #backendWire: TcpProxy;
  readonly #slots: WorkerSlot[];
  /** The way of one client to the server, whose replies may be eaten. */
  readonly #clientWire: TcpProxy;
  readonly #farClient: Client;
  readonly #perdure: Perdure;
  readonly #runs: StartedRun[] = [];
  readonly #waiting = new Set<Promise<void>>();
  readonly #disposal: AsyncDisposableStack;
  #closed = false;

  private constructor(fields: {
    bench: CrashBench;
    options: CampaignOptions & { restartServer(): Promise<void> };
    backendWire: TcpProxy;
    clientWire: TcpProxy;
    farClient: Client;
    wires: TcpProxy[];
    disposal: AsyncDisposableStack;
  }) {
    const { bench, options, backendWire, clientWire, farClient, wires, disposal } = fields;
    this.#bench = bench;
    this.#perdure = perdureOf(bench);
    this.#options = options;
    this.#backendWire = backendWire;
    this.#clientWire = clientWire;
    this.#farClient = farClient;
    this.#disposal = disposal;
    // Streams of their own, so that the programs of a seed are the same whatever the killer does.
    this.#programs = new Random(options.seed);
    this.#faults = new Random(options.seed + 1);
    this.#slots = wires.map(
      (wire, index) =>
        new WorkerSlot({
          bench,
          wire,
          backendPort: backendWire.port,
          random: new Random(options.seed + 2 + index),
          strikes: this.strikes,
        }),
    );
  }

  static async open(
    bench: CrashBench,
    options: CampaignOptions & { port: number; restartServer(): Promise<void> },
  ): Promise<Campaign> {
    await using opening = new AsyncDisposableStack();
    const backendWire = opening.use(await TcpProxy.open(bench.oracle.port));
    const clientWire = opening.use(await TcpProxy.open(options.port));
    const wires: TcpProxy[] = [];
    for (let slot = 0; slot < slots; slot += 1) wires.push(opening.use(await TcpProxy.open(options.port)));
    const connection = await Connection.connect({ address: `127.0.0.1:${clientWire.port}` });
    opening.defer(() => connection.close());
    const farClient = new Client({ connection, namespace: bench.client.options.namespace });
    return new Campaign({ bench, options, backendWire, clientWire, farClient, wires, disposal: opening.move() });
  }

  /** Until enough is killed and every run has ended. Resolves with how long they took after the last fault. */
  async run(): Promise<number> {
    const enough = (): boolean => this.strikes.kills >= this.#options.kills;
    for (const slot of this.#slots) slot.open();
    const progress = setInterval(() => this.#options.progress?.(this.#progressLine()), 10_000);
    try {
      await Promise.all([this.#keepRunning(enough), strikeUntil(this.#targets(), this.#faults, enough)]);
      this.#backendWire.set('pass');
      for (const slot of this.#slots) await slot.disarm();
      const healedAtMs = Date.now();
      await Promise.race([Promise.all(this.#waiting), sleep(mostHealMs, undefined, { ref: false })]);
      return Date.now() - healedAtMs;
    } finally {
      clearInterval(progress);
    }
  }

  /** Asks the witnesses about every run. */
  async judge(): Promise<{ runs: RunEvidence[]; violations: Violation[] }> {
    await using witnesses = await Witnesses.open(this.#bench);
    const runs: RunEvidence[] = [];
    for (const run of this.#runs) runs.push(await witnesses.ask(run));
    const violations = [...runs.flatMap(checkLaws), ...(await checkReplays(runs, await workflowBundle()))];
    return { runs, violations };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const slot of this.#slots) await slot.close();
    await Promise.all(this.#waiting);
    await this.#disposal.disposeAsync();
  }

  #progressLine(): string {
    const open = this.#runs.filter(({ ended }) => !ended).length;
    const { kills, all } = this.strikes;
    return `${kills} of ${this.#options.kills} kills, ${all.length} strikes, ${this.#runs.length} runs, ${open} open`;
  }

  #targets() {
    return {
      slots: this.#slots,
      strikes: this.strikes,
      backendWire: this.#backendWire,
      client: this.#bench.client,
      restartServer: this.#options.restartServer,
      openRun: () => {
        const open = this.#runs.filter(({ ended, cancelled }) => !ended && !cancelled);
        if (open.length === 0) return undefined;
        const run = this.#faults.pick(open);
        const cancel = async (): Promise<void> => {
          run.cancelled = true;
          run.goesOn = this.#faults.chance(0.5);
          await this.#bench.client.workflow.getHandle(run.workflowId).cancel();
        };
        return { workflowId: run.workflowId, cancel };
      },
    };
  }

  async #keepRunning(enough: () => boolean): Promise<void> {
    while (!enough()) {
      if (this.#runs.filter(({ ended }) => !ended).length < openRuns) await this.#startRun();
      else await sleep(50);
    }
  }

  async #startRun(): Promise<void> {
    const name = `s${this.#options.seed}-${this.#runs.length + 1}`;
    const program = makeProgram(name, this.#programs);
    const losesReply = this.#programs.chance(0.1);
    if (losesReply) await this.#startAndLoseReply(program);
    for (;;) {
      try {
        await this.#bench.start(program.name, program.script);
        break;
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) break;
        if (!isServerAway(error)) throw error;
        await sleep(200);
      }
    }
    const run: StartedRun = { program, workflowId: name, cancelled: false, goesOn: false, ended: false };
    this.#runs.push(run);
    const waiting = this.#untilEnded(run);
    this.#waiting.add(waiting);
    void waiting.then(() => this.#waiting.delete(waiting));
  }

  /** Starts it by a client that never hears of it; what follows must find the run there, or start it. */
  async #startAndLoseReply({ name, script }: Program): Promise<void> {
    this.#clientWire.set('no-replies');
    const starting = this.#farClient.connection.withDeadline(Date.now() + 400, () =>
      this.#bench.start(name, script, { client: this.#farClient }),
    );
    await starting.then(
      () => undefined,
      () => undefined,
    );
    this.#clientWire.set('pass');
    this.strikes.add({ row: '1 start acknowledged, reply lost', kills: 0 });
  }

  async #untilEnded(run: StartedRun): Promise<void> {
    while (!this.#closed) {
      await sleep(150);
      try {
        const { status } = await this.#bench.client.workflow.getHandle(run.workflowId).describe();
        // Terminated is what a reset leaves of the execution before; the newest one then runs.
        if (status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW') continue;
        if (!run.goesOn) break;
        await this.#retry(run);
      } catch (error) {
        if (!isServerAway(error)) throw error;
      }
    }
    run.ended = true;
  }

  /** `perdure retry`; once more later where the server is away. A run that had not begun, or has its answer, stays as it is. */
  async #retry(run: StartedRun): Promise<void> {
    try {
      await this.#perdure.retry(await this.#perdure.get(run.workflowId));
      run.cancelled = false;
      this.strikes.add({ row: '12 perdure retry after cancel', kills: 0 });
    } catch (error) {
      if (!(error instanceof PerdureError)) throw error;
      if (error.code === 'server_unreachable') return;
    }
    run.goesOn = false;
  }
}
