import type { ClassifiedFailure } from '../contract/failure.js';
import { CallGuards } from '../guards/call-guards.js';
import { classifyThrown, isControl } from '../policy/classify-thrown.js';
import { estimateTokens } from '../results/tokens.js';
import type { Attempt } from './attempt.js';
import type { Services } from './services.js';

/**
 * The guards of one attempt, with the keys that the tool itself gives its breaker and its lock. A `breakerKey` that fails
 * is only logged, and the tool's own breaker serves; an `exclusive` that fails ends the call, since a lock that is not
 * taken is worse than a call that is not made.
 */
export function guardCall(
  services: Services,
  attempt: Attempt,
): { guards: CallGuards; unusable: ClassifiedFailure | undefined } {
  const { live, tool, value, call, args } = attempt;
  let unusable: ClassifiedFailure | undefined;
  let lockKey: string | undefined;
  let breakerKey: string | undefined;
  try {
    lockKey = usableKey(live.exclusive?.(value));
  } catch (error) {
    const classified = classifyThrown(error, { nowMs: Date.now(), source: live.source });
    const failure: ClassifiedFailure = isControl(classified) ? { class: 'tool_bug', effectState: 'none' } : classified;
    unusable = { ...failure, effectState: 'none' };
  }
  try {
    breakerKey = usableKey(live.breakerKey?.(value));
  } catch (error) {
    services.log.warn('breakerKey failed; the breaker of the whole tool is used', {
      tool: tool.name,
      error: services.redactor.text(String(error)),
    });
  }
  const tokens = tool.policy.limiter?.tokensPerMinute === undefined ? 0 : estimateTokens(JSON.stringify(args));
  const guards = new CallGuards(
    services.guards,
    { tool: tool.name, policy: tool.policy, key: call.key, breakerKey, lockKey, tokens },
    { leaseMs: services.heartbeatTimeoutMs, random: () => services.random(), log: services.log },
  );
  return { guards, unusable };
}

function usableKey(key: unknown): string | undefined {
  if (key === undefined || (typeof key === 'string' && key !== '')) return key;
  throw new TypeError(
    `expected a text that is not empty, or undefined, got ${key === '' ? 'an empty one' : typeof key}`,
  );
}
