import type { Outcome } from '../../src/contract/call.js';
import type { FailureClass } from '../../src/contract/failure.js';
import type { LedgerRow } from '../../src/contract/ledger.js';
import { failureClasses } from '../../src/policy/failure-classes.js';

export interface SampleCall {
  runKey?: string;
  callId: string;
  tool?: string;
  digest?: string;
  /** Absent: it succeeded. */
  failure?: FailureClass;
  invalidPaths?: string[];
  starts?: number;
  elapsedMs?: number;
  atMs?: number;
  /** Instead of what `failure` says. */
  status?: 'partial' | 'pending' | 'running';
}

/** A ledger row as a store would return it. */
export function callOf(sample: SampleCall): LedgerRow {
  const { runKey = 'r1', callId, tool = 'refund', digest = `d-${callId}`, elapsedMs = 10, atMs = 1_000 } = sample;
  const key = `${runKey}/${callId}`;
  const starts = sample.starts ?? (sample.failure === 'validation_error' ? 0 : 1);
  const outcome = outcomeOf(sample, { callId, tool, key, attempts: starts, elapsedMs });
  return {
    key,
    runKey,
    callId,
    tool,
    digest,
    effect: { kind: 'once' },
    state: outcome ? 'done' : 'started',
    leaseUntilMs: 0,
    begun: false,
    starts,
    spentMs: 0,
    mayHaveHappened: false,
    ...(outcome && { outcome }),
    updatedAtMs: atMs,
  };
}

type Base = Pick<Outcome, 'callId' | 'tool' | 'key' | 'attempts' | 'elapsedMs'>;

function outcomeOf({ status, failure, invalidPaths }: SampleCall, base: Base): Outcome | undefined {
  if (status === 'running') return undefined;
  if (status === 'pending') return { ...base, status, message: 'later' };
  if (status === 'partial') return { ...base, status, result: { inline: 1 } };
  if (failure === undefined) return { ...base, status: 'succeeded', result: { inline: 1 } };
  const row = failureClasses[failure];
  const words = { message: `it failed: ${failure}`, suggestedAction: 'try another way', retryable: row.retryable };
  return {
    ...base,
    status: row.status,
    failure: {
      class: failure,
      code: row.code,
      effectState: row.effectState,
      ...words,
      ...(invalidPaths && { invalidPaths }),
    },
  };
}
