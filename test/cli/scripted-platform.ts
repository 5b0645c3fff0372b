import type { RetryPlan } from '../../src/client/run-retry.js';
import { PerdureError } from '../../src/client/perdure-error.js';
import { RunHandle } from '../../src/client/run-handle.js';
import type { RunDescription, RunSummary } from '../../src/client/run-description.js';
import type { TranscriptEntry, UnansweredServer } from '../../src/client/run-reader.js';
import type { FailureFigures } from '../../src/stats/failure-stats.js';
import type { RecordedExecution } from '../../src/replay/recorded-execution.js';
import type { ReplayedExecution } from '../../src/replay/replay-executions.js';
import type { ManifestTool } from '../../src/contract/manifest.js';
import type { AgentRunResult } from '../../src/contract/run.js';
import type { RunLimits } from '../../src/contract/run-limits.js';
import type { Client, CompletionValues, Engine, Platform, RunningWorker, Screen } from '../../src/cli/platform.js';
import { runCommandLine } from '../../src/cli/run-command-line.js';
import { START_MS } from './sample-run.js';

/** What the world does, one entry a question; a question too many throws. */
export interface Script {
  /** Answers of `describe`, in order; an error is thrown. The last one is repeated where `repeatLast` is set. */
  looks?: (RunDescription | Error)[];
  result?: AgentRunResult;
  limits?: RunLimits;
  completion?: CompletionValues;
  transcript?: TranscriptEntry[];
  runs?: RunSummary[];
  /** What replaying comes to, for each history in order. */
  replays?: ReplayedExecution[];
  tools?: ManifestTool[];
  stats?: FailureFigures;
  retryPlan?: RetryPlan;
  workerIsThere?: boolean;
  /** There is no server. */
  unanswered?: UnansweredServer;
  embedded?: boolean;
  /** Ctrl-C while this look (1 is the first) is waited for. */
  interruptAtLook?: number;
  terminal?: boolean;
  stdin?: string;
  openFails?: Error;
  /** Why a run cannot be started, as the store knows. */
  startFails?: Error;
  broken?: Promise<never>;
  worker?: Partial<RunningWorker>;
  debug?: boolean;
}

export interface Finished {
  exitCode: number;
  out: string;
  err: string;
  /** What the client and the engine were asked to do, in order. */
  asked: string[];
  startedWith: unknown[];
}

class RecordedScreen implements Screen {
  text = '';
  readonly isTerminal: boolean;
  readonly colour = false;
  readonly columns: number | undefined;
  constructor(isTerminal: boolean) {
    this.isTerminal = isTerminal;
    this.columns = isTerminal ? 80 : undefined;
  }
  write(text: string): void {
    this.text += text;
  }
}

/** Runs one command line against a scripted world. Fails where it leaves a client, an engine or a handler open. */
export async function runScripted(args: string[], script: Script = {}): Promise<Finished> {
  const out = new RecordedScreen(script.terminal ?? false);
  const err = new RecordedScreen(script.terminal ?? false);
  const asked: string[] = [];
  const startedWith: unknown[] = [];
  const interrupts = new Set<() => void>();
  let open = 0;
  let nowMs = START_MS + 60_000;
  let looks = 0;

  const interrupt = (): void => {
    if (interrupts.size === 0) throw new Error('nobody listens for Ctrl-C');
    for (const listener of interrupts) listener();
  };
  const client: Client = {
    taskQueue: 'perdure-0a1b2c3d',
    unanswered: script.unanswered,
    start(task, options) {
      startedWith.push({ task, ...options });
      return Promise.resolve(handle(options?.id ?? 'run-4kx9mz'));
    },
    checkStart(_task, options) {
      asked.push(`checkStart ${options?.id ?? ''}`.trim());
      return script.startFails ? Promise.reject(script.startFails) : Promise.resolve();
    },
    checkRetry(run) {
      asked.push(`checkRetry ${run.runId}`);
      return Promise.resolve();
    },
    get(id) {
      if (id === 'nope') {
        return Promise.reject(new PerdureError('run_not_found', 'There is no run "nope".', { next: 'perdure list' }));
      }
      return Promise.resolve(handle('run-4kx9mz'));
    },
    list(options) {
      asked.push(`list ${JSON.stringify(options)}`);
      return Promise.resolve(needed(script.runs, 'runs'));
    },
    describe() {
      looks += 1;
      if (script.interruptAtLook === looks) interrupt();
      const look = needed(script.looks, 'looks')[looks - 1];
      if (look === undefined) throw new Error(`look ${looks} is not scripted`);
      return look instanceof Error ? Promise.reject(look) : Promise.resolve(look);
    },
    follow: (run) => ({ look: () => client.describe(run) }),
    serverEvents: () => Promise.resolve([]),
    transcript: () => Promise.resolve(needed(script.transcript, 'transcript')),
    limitsOf: () => Promise.resolve(script.limits),
    describeCall(_run, callId) {
      const calls = needed(script.looks, 'looks').flatMap((look) =>
        look instanceof Error ? [] : look.steps.flatMap((step) => step.calls),
      );
      return Promise.resolve(calls.find((call) => call.callId === callId));
    },
    cancel(run) {
      asked.push(`cancel ${run.runId}`);
      return Promise.resolve();
    },
    retry(run, options) {
      asked.push(`retry ${run.runId} ${JSON.stringify(options)}`);
      return Promise.resolve(script.retryPlan ?? { rerun: [], unresolved: [] });
    },
    resolve(run, callId, options) {
      asked.push(`resolve ${run.runId} ${callId} ${JSON.stringify(options)}`);
      const base = { callId, tool: 'print_label', key: 'k1:a', attempts: 1, elapsedMs: 5 };
      return Promise.resolve({ ...base, status: 'succeeded', result: { inline: options.result ?? null } });
    },
    waitForResult: () => Promise.resolve(needed(script.result, 'result')),
    stats(options) {
      asked.push(`stats ${JSON.stringify(options)}`);
      return Promise.resolve(needed(script.stats, 'stats'));
    },
    failurePairs() {
      throw new Error('failurePairs is not scripted');
    },
    async *histories(run): AsyncGenerator<RecordedExecution> {
      asked.push(`histories ${run.runId}`);
      for (const { id } of needed(script.replays, 'replays')) yield execution(id);
    },
    async *allHistories(options): AsyncGenerator<RecordedExecution> {
      asked.push(`allHistories ${JSON.stringify(options)}`);
      for (const { id } of needed(script.replays, 'replays')) yield execution(id);
    },
    hasWorker: () => Promise.resolve(script.workerIsThere ?? true),
    runUrl: (run) => `http://ui/${run.runId}`,
    close() {
      open -= 1;
      return Promise.resolve();
    },
  };
  const handle = (runId: string): RunHandle => new RunHandle(client, { runId, runKey: 'key-1' });
  const never = new Promise<never>(() => undefined);
  const opened = <T>(value: T): Promise<T> => {
    if (script.openFails) return Promise.reject(script.openFails);
    open += 1;
    return Promise.resolve(value);
  };
  const platform: Platform = {
    out,
    err,
    useConfig: (file) => asked.push(`config ${file}`),
    nowMs: () => nowMs,
    sleep(ms) {
      nowMs += ms;
      return Promise.resolve();
    },
    readStdin: () => Promise.resolve(needed(script.stdin, 'stdin')),
    onInterrupt(listener) {
      interrupts.add(listener);
      return () => interrupts.delete(listener);
    },
    loadTools: () => Promise.resolve(needed(script.tools, 'tools')),
    createProject(dir) {
      asked.push(`createProject ${dir}`);
      return Promise.resolve({ dir: `/projects/${dir}`, files: ['package.json'] });
    },
    completionValues: () => Promise.resolve(needed(script.completion, 'completion')),
    readHistory(file) {
      asked.push(`readHistory ${file}`);
      return Promise.resolve(execution(file));
    },
    async *replay(executions): AsyncGenerator<ReplayedExecution> {
      const replays = [...needed(script.replays, 'replays')];
      for await (const { id } of executions) yield needed(replays.shift(), `replay of ${id}`);
    },
    openUpkeep: () => Promise.reject(new Error('openUpkeep is not scripted')),
    diagnose: () => Promise.reject(new Error('diagnose is not scripted')),
    openClient: () => opened(client),
    async openEngine({ check, modelAdvice: _words, ...options }): Promise<Engine> {
      if (script.embedded) await check?.(client);
      asked.push(`engine ${JSON.stringify(options)}`);
      const stop = async (): Promise<void> => {
        asked.push('stop');
        await client.close();
      };
      return await opened({ client, embedded: script.embedded ?? false, broken: script.broken ?? never, stop });
    },
    async openWorker(options): Promise<RunningWorker> {
      asked.push(`worker ${JSON.stringify(options)}`);
      const worker = await opened({
        server: { address: '127.0.0.1:7000', namespace: 'default', source: 'TEMPORAL_ADDRESS', startedHere: false },
        taskQueue: 'perdure-0a1b2c3d',
        tools: ['find_order'],
        model: undefined,
        configPath: '/shop/perdure.config.ts',
        broken: script.broken ?? never,
        async stop() {
          asked.push('stop');
          await client.close();
        },
        ...script.worker,
      });
      if (!script.broken) setImmediate(interrupt);
      return worker;
    },
  };
  const exitCode = await runCommandLine(args, { platform, version: '1.2.3', debug: script.debug ?? false });
  if (open !== 0) throw new Error(`${open} clients or engines were left open`);
  if (interrupts.size !== 0) throw new Error('a listener for Ctrl-C was left behind');
  return { exitCode, out: out.text, err: err.text, asked, startedWith };
}

function execution(id: string): RecordedExecution {
  return { id, executionId: 'execution-1', workflowType: 'agentRun', history: {} };
}

function needed<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`the script has no ${name}`);
  return value;
}
