/** What a child run may use: never more than its parent has left, however many children run side by side. */
import type { PaidCall, RunCounters } from '../contract/run.js';
import type { RunLimits } from '../contract/run-limits.js';
import { digestOf } from './idempotency-key.js';

/** What a run counts as used up by a child: steps and failures are the child's own. */
export type AgentShare = Pick<RunLimits, 'calls' | 'tokens' | 'costUsd'>;

export const noShare: AgentShare = { calls: null, tokens: null, costUsd: null };

/** A run's budget as its children see it. */
export interface AgentBudget {
  limits: RunLimits;
  counters: RunCounters;
  startedAtMs: number;
  /** What children of a turn that was set aside are charged with already. */
  paid?: readonly PaidCall[];
}

export interface Carving {
  /** The agent's own caps. */
  own: Partial<RunLimits>;
  budget: AgentBudget;
  nowMs: number;
  /** What children that run now have been given and not yet been charged for. */
  reserved: readonly AgentShare[];
  /** Children of this step that have not begun, this one included: what is left is divided among them. */
  waiting: number;
}

/**
 * The limits of a child that begins now, and the share that must be reserved until it ends. `undefined` where the parent has
 * nothing left of something. Whatever the children do, their shares and what was used never exceed the parent's limits.
 */
export function carveLimits(carving: Carving): { limits: Partial<RunLimits>; share: AgentShare } | undefined {
  const { own, budget, reserved, waiting, nowMs } = carving;
  const { limits, counters, startedAtMs } = budget;
  const used = {
    calls: counters.calls,
    tokens: counters.inputTokens + counters.outputTokens,
    costUsd: counters.costUsd,
  };
  const shareOf = (cap: keyof AgentShare): number | null => {
    const limit = limits[cap];
    if (limit === null) return null;
    const taken = reserved.reduce((sum, share) => sum + (share[cap] ?? 0), used[cap]);
    const fair = Math.max(0, limit - taken) / Math.max(1, waiting);
    return smaller(own[cap] ?? null, cap === 'costUsd' ? fair : Math.floor(fair));
  };
  const share: AgentShare = { calls: shareOf('calls'), tokens: shareOf('tokens'), costUsd: shareOf('costUsd') };
  const timeLeftMs = limits.wallTimeMs === null ? null : limits.wallTimeMs - (nowMs - startedAtMs);
  const carved: Partial<RunLimits> = {
    ...own,
    ...given('calls', share.calls),
    ...given('tokens', share.tokens),
    ...given('costUsd', share.costUsd),
    ...given('wallTimeMs', timeLeftMs === null ? null : smaller(own.wallTimeMs ?? null, Math.max(0, timeLeftMs))),
  };
  // A child without calls can still answer; one without tokens, money or time cannot.
  const isSpent = share.tokens === 0 || share.costUsd === 0 || (timeLeftMs !== null && timeLeftMs <= 0);
  return isSpent ? undefined : { limits: carved, share };
}

/** The parent's counters once a child has been paid for. */
export function chargeAgent(counters: RunCounters, used: RunCounters): RunCounters {
  return {
    ...counters,
    calls: counters.calls + used.calls,
    inputTokens: counters.inputTokens + used.inputTokens,
    outputTokens: counters.outputTokens + used.outputTokens,
    costUsd: counters.costUsd + used.costUsd,
  };
}

/**
 * The counters before a child was charged, for one that goes on or is asked for again: its end reports all that it has used,
 * what it was charged with before included.
 */
export function takeBackAgent(counters: RunCounters, used: RunCounters): RunCounters {
  return {
    ...counters,
    calls: Math.max(0, counters.calls - used.calls),
    inputTokens: Math.max(0, counters.inputTokens - used.inputTokens),
    outputTokens: Math.max(0, counters.outputTokens - used.outputTokens),
    costUsd: Math.max(0, counters.costUsd - used.costUsd),
  };
}

/** A child run's identity: equal whenever this call of this run is executed, also after a reset; so are all keys below it. */
export function childRunKey(runKey: string, callId: string): string {
  return digestOf(['agent', runKey, callId]);
}

function smaller(own: number | null, left: number): number {
  return own === null ? left : Math.min(own, left);
}

function given(cap: keyof RunLimits, value: number | null): Partial<RunLimits> {
  return value === null ? {} : { [cap]: value };
}
