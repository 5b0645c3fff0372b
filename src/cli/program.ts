import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import type { RunState } from '../client/run-description.js';
import { parseDuration } from '../config/duration.js';
import { cancelCommand } from './commands/cancel.js';
import { devCommand } from './commands/dev.js';
import { exportFailuresCommand } from './commands/export-failures.js';
import { listCommand } from './commands/list.js';
import { resolveCommand, type ResolveCommandOptions } from './commands/resolve.js';
import { retryCommand, type RetryCommandOptions } from './commands/retry.js';
import { runCommand, type RunCommandOptions } from './commands/run.js';
import { showCommand } from './commands/show.js';
import { statsCommand, type StatsCommandOptions } from './commands/stats.js';
import { toolsCheckCommand, toolsCommand, type ToolsCommandOptions } from './commands/tools.js';
import { workerCommand, type WorkerCommandOptions } from './commands/worker.js';
import { addLimitOptions } from './limit-options.js';
import type { Platform } from './platform.js';

const RUN_STATES: readonly RunState[] = [
  'running',
  'waiting',
  'completed',
  'capped',
  'failed',
  'cancelled',
  'terminated',
  'timed_out',
];

const EXAMPLES = `
Examples:
  perdure dev                         server, worker and Temporal UI
  perdure run "Refund order 1042"     the answer on stdout, progress on stderr
  perdure run --max-steps 50 - < task.txt
  perdure list --status running
  perdure show run-4k                 any unique beginning of a run's id
  perdure show run-4k --call c3.1     everything about one call
  perdure retry run-4k                go on after the tool was mended
  perdure stats --since 7d            how the tools do

Exit codes: 0 done, 2 usage or configuration, 3 a limit ended the run,
4 the run failed or was cancelled, 130 detached by Ctrl-C.`;

const RUN_EXAMPLES = `
Examples:
  perdure run "Refund order 1042 and tell the customer"
  perdure run --id refund-1042 --max-steps 50 "Refund order 1042"
  perdure run --model openai:gpt-5 - < task.txt > answer.txt
  perdure run --json --follow "Refund order 1042" | jq .termination`;

const RETRY_EXAMPLES = `
Examples:
  perdure retry refund-1042                     a tool or a credential was mended
  perdure retry refund-1042 --max-steps 50      a limit ended it
  perdure retry refund-1042 --ask-again         the model is to answer anew`;

const RESOLVE_EXAMPLES = `
Examples:
  perdure resolve refund-1042 --call c3.1 --happened --result label.json
  perdure resolve refund-1042 --call c3.1 --did-not --note "no label in the printer's log"`;

const WORKER_EXAMPLES = `
Examples:
  perdure worker
  perdure worker --health-port 8080 --metrics-port 9464 --bind 0.0.0.0
  perdure worker --task-queue gpu     only the calls of tools with taskQueue: 'gpu'`;

const SHOW_EXAMPLES = `
Examples:
  perdure show refund-1042
  perdure show refund-1042 --call c3.1
  perdure show refund-1042 --json | jq '.steps[].calls[] | select(.failure)'`;

const STATS_EXAMPLES = `
Examples:
  perdure stats --since 7d
  perdure stats --since 24h --tool refund_payment
  perdure stats --json | jq '.tools[] | {tool, successRate}'`;

/** The command line. `finish` is given the exit code of the command that ran. */
export function makeProgram(platform: Platform, version: string, finish: (exitCode: number) => void): Command {
  const program = new Command('perdure')
    .description('Durable tool calls for LLM agents, on Temporal.')
    .version(version, '-V, --version')
    .option('--config <file>', 'default: perdure.config.ts here or in the nearest folder above')
    .hook('preAction', (root) => {
      const { config } = root.opts<{ config?: string }>();
      if (config !== undefined) platform.useConfig(config);
    })
    .addHelpText('after', EXAMPLES)
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => platform.out.write(text),
      writeErr: (text) => platform.err.write(text),
      // What is wrong is said by the one place that explains errors.
      outputError: () => undefined,
      getOutHelpWidth: () => platform.out.columns ?? 80,
      getErrHelpWidth: () => platform.err.columns ?? 80,
      getOutHasColors: () => platform.out.colour,
      getErrHasColors: () => platform.err.colour,
    });

  // Settings are inherited by the commands that are made after them.
  program
    .command('dev')
    .description('start server and worker here, and run until Ctrl-C')
    .action(async () => finish(await devCommand(platform)));
  program
    .command('worker')
    .description('execute the tools of runs, until Ctrl-C')
    .addHelpText('after', WORKER_EXAMPLES)
    .option('--task-queue <queue>', 'serve this queue, which tools name, instead of the runs themselves')
    .option('--health-port <port>', 'serve /healthz and /readyz; 0 takes a free port', portNumber)
    .option('--metrics-port <port>', 'serve Prometheus metrics at /metrics; 0 takes a free port', portNumber)
    .option('--bind <address>', 'interface of these ports (default: 127.0.0.1)')
    .action(async (options: WorkerCommandOptions) => finish(await workerCommand(platform, options)));
  addRun(program, platform, finish);
  addRetry(program, platform, finish);
  addResolve(program, platform, finish);
  program
    .command('list')
    .description('list runs, the newest first')
    .addOption(new Option('--status <status>', 'only runs in this state').choices(RUN_STATES))
    .option('--limit <count>', 'at most this many', wholeNumber, 50)
    .option('--json', 'print JSON, and nothing else, on standard output')
    .action(async (options: { status?: RunState; limit: number; json?: boolean }) =>
      finish(await listCommand(platform, options)),
    );
  program
    .command('show')
    .description("show a run's steps, calls and answer")
    .addArgument(runArgument())
    .addHelpText('after', SHOW_EXAMPLES)
    .option('--call <call>', 'everything about one call, for example c3.1')
    .option('--json', 'print JSON, and nothing else, on standard output')
    .action(async (run: string, options: { call?: string; json?: boolean }) =>
      finish(await showCommand(platform, run, options)),
    );
  program
    .command('stats')
    .description('how the tools do: success, durations, failures, corrections')
    .addHelpText('after', STATS_EXAMPLES)
    .option('--since <time>', 'only calls of the last 30m, 12h, 7d … (default: all)', timeSpan)
    .option('--tool <tool>', 'only this tool')
    .option('--json', 'print JSON, and nothing else, on standard output')
    .action(async (options: StatsCommandOptions) => finish(await statsCommand(platform, options)));
  program
    .command('export')
    .description('write records for other programs')
    .command('failures')
    .description('failed calls with the corrected ones that followed, as JSON Lines')
    .option('--since <time>', 'only calls of the last 30m, 12h, 7d … (default: all)', timeSpan)
    .option('--tool <tool>', 'only this tool')
    .action(async (options: { since?: number; tool?: string }) =>
      finish(await exportFailuresCommand(platform, options)),
    );
  program
    .command('cancel')
    .description('ask a run to end')
    .addArgument(runArgument())
    .option('--json', 'print JSON, and nothing else, on standard output')
    .action(async (run: string, options: { json?: boolean }) => finish(await cancelCommand(platform, run, options)));
  addTools(program, platform, finish);
  return program;
}

function addTools(program: Command, platform: Platform, finish: (exitCode: number) => void): void {
  const tools = program
    .command('tools')
    .description('list the tools of the configuration')
    .option('--json', 'print JSON, and nothing else, on standard output')
    .action(async (options: ToolsCommandOptions) => finish(await toolsCommand(platform, options)));
  tools
    .command('check')
    .description('warn of what in their schemas makes models err')
    .action(async () => finish(await toolsCheckCommand(platform, tools.opts<ToolsCommandOptions>())));
}

function addRetry(program: Command, platform: Platform, finish: (exitCode: number) => void): void {
  const retry = program
    .command('retry')
    .description('go on from the last good step of a run that ended badly')
    .addArgument(runArgument())
    .addHelpText('after', RETRY_EXAMPLES)
    .option('--ask-again', 'ask the model anew for its last turn')
    .option('--model <model>', 'provider:model, from here on')
    .option('--yes', 'end the execution of a run that is stuck')
    .option('--note <text>', 'why, for the record');
  addDelivery(addLimitOptions(retry)).action(async (run: string, options: RetryCommandOptions) =>
    finish(await retryCommand(platform, run, options)),
  );
}

function addResolve(program: Command, platform: Platform, finish: (exitCode: number) => void): void {
  program
    .command('resolve')
    .description('say what became of a call whose outcome is unknown')
    .addArgument(runArgument())
    .addHelpText('after', RESOLVE_EXAMPLES)
    .requiredOption('--call <call>', 'which call, for example c3.1')
    .option('--happened', 'it did happen')
    .option('--did-not', 'it did not; a retry of the run makes the call again')
    .option('--result <file>', 'what it gave, JSON or text; - reads it from standard input')
    .option('--note <text>', 'how you know; told to the model')
    .option('--json', 'print JSON, and nothing else, on standard output')
    .action(async (run: string, options: ResolveCommandOptions) =>
      finish(await resolveCommand(platform, run, options)),
    );
}

function addDelivery(command: Command): Command {
  return command
    .option('--follow', 'wait for the answer (the default on a terminal)')
    .option('--no-follow', "print the run's id and leave")
    .option('--json', 'print JSON, and nothing else, on standard output');
}

function addRun(program: Command, platform: Platform, finish: (exitCode: number) => void): void {
  const run = program
    .command('run')
    .description('run the agent on a task')
    .argument('<task>', 'what the agent is to do; - reads it from standard input')
    .option('--id <id>', "the run's name; default: a short random one")
    .option('--model <model>', 'provider:model, instead of the one in the configuration')
    .addHelpText('after', RUN_EXAMPLES);
  addDelivery(addLimitOptions(run)).action(async (task: string, options: RunCommandOptions) =>
    finish(await runCommand(platform, task, options)),
  );
}

function runArgument(): Argument {
  return new Argument('<run>', "the run's id, or any unique beginning of it");
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('Expected a whole number, 1 or more.');
}

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('Expected a port, 0 to 65535.');
}

/** Milliseconds. */
function timeSpan(text: string): number {
  try {
    return parseDuration('--since', text, { maxMs: Number.MAX_SAFE_INTEGER });
  } catch {
    throw new InvalidArgumentError('Expected a length of time such as 30m, 12h or 7d.');
  }
}
