import type { Effect } from './effect.js';
import type { FailureClass } from './failure.js';
import type { JsonObject } from './json.js';
import type { RunLimits } from './run-limits.js';
import type { BreakerLimits, LimiterLimits, RetryBudgetLimits } from './shared-limits.js';

/** Who decides on a retry of one failure class of one tool. */
export type RetryOwner = 'executor' | 'model' | 'never';

/** Per class: who retries, and how often and how far apart; absent fields take the failure table's values. */
export interface RetryOverride {
  owner?: RetryOwner;
  /** Starts of the body in all, the first included. */
  maxAttempts?: number;
  /** First delay's upper bound, doubled with each attempt; milliseconds. */
  baseDelayMs?: number;
  maxDelayMs?: number;
}

/** A tool's policy with every default resolved: fixed for a run when the run starts. */
export interface ToolPolicy {
  effect: Effect;
  /** One attempt's deadline, milliseconds. */
  timeoutMs: number;
  /** Deadline over attempts and the waits between them, milliseconds; never below `timeoutMs`. */
  budgetMs: number;
  retry: Partial<Record<FailureClass, RetryOverride>>;
  /** The tool can settle a lost answer (`reconcile`). */
  reconciles: boolean;
  /** The tool can renew its credentials once after a 401 (`refresh`). */
  refreshes: boolean;
  eventuallyConsistent: boolean;
  /** Repeating the same call is this tool's purpose. */
  polling: boolean;
  maxOutputBytes: number;
  /** A failure is this tool's output (compiler, test runner) and reaches the model whole. */
  failureOutput: 'summary' | 'verbatim';
  /** Whether the model may read an unexplained error's own words, or only what the tool made public. */
  errors: 'redacted' | 'public';
  /** Shared by all runs and workers, like the two below; `null` is none. */
  breaker: BreakerLimits | null;
  limiter: LimiterLimits | null;
  retryBudget: RetryBudgetLimits | null;
  /** Calls wait for a lock across runs. */
  exclusive: boolean;
  taskQueue?: string;
}

/** What makes a tool an agent: each of its calls is a child run. Pinned with the rest of the tool. */
export interface AgentSpec {
  /** Names of the tools that the agent is offered; absent: every tool that is no agent. */
  tools?: string[];
  /** Its own caps; what the parent run has left is never exceeded, whatever they say. */
  limits: Partial<RunLimits>;
  /** Calls of this agent at once in one run. */
  maxConcurrent: number;
  /** How deep below the first run it may be started; 1 is a child of the first. */
  maxDepth: number;
}

/** One tool as the run knows it: pinned at start, whatever is deployed later. */
export interface ManifestTool {
  name: string;
  /** The name that providers are shown: `^[a-zA-Z0-9_-]{1,64}$`, unique in the manifest. */
  modelName: string;
  description: string;
  /** JSON Schema of the arguments, as validated. */
  inputSchema: JsonObject;
  /** JSON Schema of the result, where the tool declares one. */
  outputSchema?: JsonObject;
  /** Correct arguments, quoted in validation messages. */
  examples: JsonObject[];
  /** Names of tools that may serve instead. */
  alternatives: string[];
  policy: ToolPolicy;
  /** Present where the tool is an agent. */
  agent?: AgentSpec;
}

/** A run's pinned tool catalogue. `hash` is the SHA-256 of the rest's canonical JSON, hex. */
export interface Manifest {
  hash: string;
  tools: ManifestTool[];
}

/** What the workflow keeps of a tool: the parts that its guards and timeouts need. */
export interface ToolSummary {
  name: string;
  effect: Effect['kind'];
  timeoutMs: number;
  budgetMs: number;
  polling?: true;
  /** Its failures are its output. Absent in runs that were started before guards took notice of it. */
  verbatim?: true;
  taskQueue?: string;
  /** Present where the tool is an agent: the workflow starts a child run instead of an activity. */
  agent?: Omit<AgentSpec, 'tools'>;
}

/** All of a manifest that travels in a run's history. */
export interface ManifestSummary {
  hash: string;
  tools: ToolSummary[];
}
