import { createRequire } from 'node:module';
import { LocalPlatform } from './local-platform.js';
import { runCommandLine } from './run-command-line.js';

/**
 * The `perdure` command: runs it with the words after its name, in this process's folder and environment, and returns
 * its exit code. Never throws. `PERDURE_DEBUG=1` adds stacks to what is said of errors.
 */
export async function main(args: readonly string[]): Promise<number> {
  endQuietlyWithReader();
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };
  const platform = new LocalPlatform({ cwd: process.cwd(), env: process.env, version });
  return await runCommandLine(args, { platform, version, debug: Boolean(process.env['PERDURE_DEBUG']) });
}

/** `perdure list | head`: whoever reads has read enough, which is no error. */
function endQuietlyWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  // A full disk, or nobody who reads: what cannot be said there must not end a run or a worker.
  process.stderr.on('error', () => undefined);
}
