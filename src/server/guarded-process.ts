import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A child process that cannot outlive this one. */
export interface GuardedProcess {
  /** Process id of the command itself. */
  pid: number;
  hasEnded(): boolean;
  /** Settles when the command has ended. Never rejects. */
  ended: Promise<void>;
  /** Ends the command: SIGTERM, after `timeoutMs` SIGKILL. Waits for its end. Never rejects. */
  stop(timeoutMs: number): Promise<void>;
}

/**
 * The shell that stands between: it starts the command, says its process id, and sends it SIGTERM as soon as its own
 * standard input ends. That input is a pipe from this process, so it ends with this process even where no handler
 * can run (SIGKILL, a crash), and no signal handler of a host program is needed.
 */
const guard = `
exec 3<&0
"$@" 3<&- >&2 &
command=$!
echo "$command"
{ read -r _ <&3; kill -TERM "$command" 2>/dev/null; } &
watch=$!
exec 3<&- 1>&-
wait "$command"
status=$?
kill "$watch" 2>/dev/null
exit "$status"
`;

export interface GuardedOptions {
  command: string;
  args: string[];
  /** Receives what the command writes to stdout and stderr. */
  logPath: string;
}

/**
 * Starts a command under guard, in a session of its own (a terminal's Ctrl-C does not reach it).
 * A command that cannot be executed shows as one that has ended; its log says why.
 */
export async function startGuarded({ command, args, logPath }: GuardedOptions): Promise<GuardedProcess> {
  const log = await open(logPath, 'a');
  let shell: ChildProcess;
  try {
    shell = spawn('/bin/sh', ['-c', guard, 'perdure-guard', command, ...args], {
      detached: true,
      stdio: ['pipe', 'pipe', log.fd],
    });
    await once(shell, 'spawn');
  } finally {
    await log.close();
  }
  const ended = new Promise<void>((resolve) => shell.once('exit', () => resolve()));
  // Closed by a shell that ended before it was told to; its end says all.
  shell.stdin?.on('error', () => undefined);
  const pid = await readPid(shell);
  const hasEnded = () => shell.exitCode !== null || shell.signalCode !== null;
  return { pid, ended, hasEnded, stop: (timeoutMs) => stop({ shell, pid, ended, hasEnded }, timeoutMs) };
}

async function readPid(shell: ChildProcess): Promise<number> {
  if (!shell.stdout) throw new Error('the guard has no standard output');
  for await (const line of createInterface({ input: shell.stdout })) return Number(line);
  throw new Error('the guard ended before it started its command');
}

interface Stopping {
  shell: ChildProcess;
  pid: number;
  ended: Promise<void>;
  hasEnded: () => boolean;
}

async function stop({ shell, pid, ended, hasEnded }: Stopping, timeoutMs: number): Promise<void> {
  if (hasEnded()) return;
  shell.stdin?.end();
  const timer = setTimeout(() => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended in between.
    }
  }, timeoutMs);
  await ended;
  clearTimeout(timer);
}
