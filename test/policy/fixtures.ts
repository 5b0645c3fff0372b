import type { ManifestTool, ToolPolicy } from '../../src/contract/manifest.js';

export function toolPolicy(overrides: Partial<ToolPolicy> = {}): ToolPolicy {
  return {
    effect: { kind: 'idempotent', by: 'key', keyTtlMs: 86_400_000 },
    timeoutMs: 30_000,
    budgetMs: 120_000,
    retry: {},
    reconciles: false,
    refreshes: false,
    eventuallyConsistent: false,
    polling: false,
    maxOutputBytes: 1_000_000,
    failureOutput: 'summary',
    errors: 'redacted',
    breaker: null,
    limiter: null,
    retryBudget: null,
    exclusive: false,
    ...overrides,
  };
}

export function manifestTool(overrides: Partial<ManifestTool> = {}): ManifestTool {
  return {
    name: 'refund_payment',
    modelName: 'refund_payment',
    description: 'Refund a captured payment, whole or in part.',
    inputSchema: { type: 'object' },
    examples: [],
    alternatives: [],
    policy: toolPolicy(),
    ...overrides,
  };
}
