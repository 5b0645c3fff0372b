import { attemptsSeen, type SeenRequests } from '../contract/seen-requests.js';
import { retryRemedy } from '../policy/retry-owner.js';
import { readTurnAttemptKey } from '../policy/turn-attempt-key.js';
import type { LedgerRow } from '../contract/ledger.js';
import type { AttemptRecord } from '../store/records.js';

/** A client that retried by itself inside starts of a tool's body or of a model turn. */
export interface HiddenRetryFigures {
  kind: 'tool' | 'model';
  /** The tool's or the model's name. */
  name: string;
  /** Where the requests went; absent where only the backend's own count tells of them. */
  host?: string;
  /** The client library, where it gives its name. */
  client?: string;
  /** Starts in which it did. */
  starts: number;
  /** The most attempts that one start became. */
  mostInOneStart: number;
  /** The call or turn in which the backend saw the most: starts that the executor made, and attempts that were seen. */
  worst: { runKey: string; callId?: string; step?: number; starts: number; seen: number };
  /** What to change so that the executor alone retries. */
  remedy: string;
}

/**
 * Finds who retries besides the executor, from what each start was seen to send. Exactly one layer is to retry: a client's
 * own retries multiply the executor's (3 starts of 3 attempts are 9 at the backend), and no budget knows of them.
 */
export class RetryOwners {
  readonly #found = new Map<string, HiddenRetryFigures>();

  addCall({ tool, runKey, callId, starts }: LedgerRow, attempts: readonly AttemptRecord[]): void {
    const seen = attempts.reduce((sum, { requests }) => sum + (attemptsSeen(requests) ?? 1), 0);
    for (const { requests } of attempts) {
      this.#add({ kind: 'tool', name: tool }, requests, { runKey, callId, starts, seen });
    }
  }

  /** Of model turns only those starts are recorded in which a client retried. */
  addTurns(attempts: readonly AttemptRecord[]): void {
    for (const [key, starts] of Map.groupBy(attempts, (attempt) => attempt.key)) {
      const { runKey, step, model } = readTurnAttemptKey(key);
      const made = Math.max(...starts.map(({ start }) => start));
      const seen = starts.reduce((sum, { requests }) => sum + (attemptsSeen(requests) ?? 1), made - starts.length);
      for (const { requests } of starts) {
        this.#add({ kind: 'model', name: model }, requests, { runKey, step, starts: made, seen });
      }
    }
  }

  figures(): HiddenRetryFigures[] {
    return [...this.#found.values()].sort((a, b) => b.worst.seen - a.worst.seen || (a.name < b.name ? -1 : 1));
  }

  #add(
    by: Pick<HiddenRetryFigures, 'kind' | 'name'>,
    requests: SeenRequests | undefined,
    worst: HiddenRetryFigures['worst'],
  ): void {
    for (const { host, client, attempts } of multiplied(requests)) {
      const place = JSON.stringify([by.kind, by.name, host]);
      const former = this.#found.get(place);
      const named = client ?? former?.client;
      this.#found.set(place, {
        ...by,
        ...(host !== undefined && { host }),
        ...(named !== undefined && { client: named }),
        starts: (former?.starts ?? 0) + 1,
        mostInOneStart: Math.max(former?.mostInOneStart ?? 0, attempts),
        worst: former && former.worst.seen >= worst.seen ? former.worst : worst,
        remedy: retryRemedy(named),
      });
    }
  }
}

/** By host, so that a body that asks two backends names the one whose client is to be changed. */
function multiplied(requests: SeenRequests | undefined): { host?: string; client?: string; attempts: number }[] {
  const byHost = Map.groupBy(requests?.retried ?? [], ({ host }) => host);
  const seen = [...byHost].map(([host, retried]) => {
    const client = retried.find((request) => request.client !== undefined)?.client;
    return {
      host,
      ...(client !== undefined && { client }),
      attempts: Math.max(...retried.map(({ attempts }) => attempts)),
    };
  });
  const reported = requests?.reported ?? 0;
  return seen.length === 0 && reported > 1 ? [{ attempts: reported }] : seen;
}
