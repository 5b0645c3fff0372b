import { CommanderError } from 'commander';
import { PerdureError } from '../client/perdure-error.js';
import { ConfigError } from '../config/config-error.js';
import { StoreError } from '../store/store-error.js';
import { exitCodes } from './exit-code.js';
import { helpFor } from './program.js';
import { printable } from './render/text-width.js';

/** An error as a person is told it: one sentence, and what to type next. */
export interface Explanation {
  sentence: string;
  next?: string;
  exitCode: number;
}

/** Errors of the server's part, recognised by name: importing them would load the SDK to explain a typing mistake. */
const NEXT_BY_NAME: ReadonlyMap<string, string> = new Map([
  ['DevServerError', 'Try again, or use a server of your own with TEMPORAL_ADDRESS=host:port.'],
  ['DevServerRunningError', 'Use it: perdure run "…" - or add a worker: perdure worker'],
  [
    'TemporalCliError',
    'Set TEMPORAL_CLI_PATH to the temporal command, or use a server with TEMPORAL_ADDRESS=host:port.',
  ],
]);

/** Never throws, whatever was thrown. */
export function explainError(error: unknown): Explanation {
  if (error instanceof PerdureError) {
    return explained(error.message, error.next, exitCodes.usage);
  }
  if (error instanceof ConfigError) {
    // Without a path it is about the file as a whole, and says itself what to do.
    return explained(error.message, error.path === '' ? undefined : 'Correct it and try again.', exitCodes.usage);
  }
  if (error instanceof StoreError) {
    return explained(error.message, nextForStore(error), exitCodes.usage);
  }
  if (error instanceof CommanderError) {
    return explained(error.message.replace(/^error: /, ''), helpFor(error), exitCodes.usage);
  }
  const name = error instanceof Error ? error.name : '';
  const known = name === 'ServerUnreachableError' ? nextOf(error) : NEXT_BY_NAME.get(name);
  if (known !== undefined) return explained(messageOf(error), known, exitCodes.usage);
  return explained(messageOf(error), 'Run it again with PERDURE_DEBUG=1 to see where.', exitCodes.broken);
}

function explained(sentence: string, next: string | undefined, exitCode: number): Explanation {
  return { sentence: printable(sentence).trim(), ...(next !== undefined && { next }), exitCode };
}

/** What a `ServerUnreachableError` says itself: it knows where the address is from. */
function nextOf(error: unknown): string | undefined {
  return error instanceof Error && 'next' in error && typeof error.next === 'string' ? error.next : undefined;
}

function nextForStore(error: StoreError): string {
  switch (error.code) {
    case 'newer_schema':
      return 'Update perdure: npm install perdure@latest';
    case 'unavailable':
    case 'not_a_store':
      return 'Check store.path in perdure.config.ts.';
    case 'collected':
      return 'Start a new run: perdure run "…"';
    default:
      return 'Run it again with PERDURE_DEBUG=1 to see where.';
  }
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  if (error instanceof Error) return error.message === '' ? error.name : error.message;
  return String(error);
}
