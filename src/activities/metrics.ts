import type { MetricCounter, MetricGauge, MetricHistogram, MetricMeter } from '@temporalio/common';

import type { Outcome } from '../contract/call.js';
import type { FailureClass } from '../contract/failure.js';
import type { AgentRunResult } from '../contract/run.js';
import type { TurnUsage } from '../contract/transcript.js';
import type { BreakerVerdict } from '../policy/breaker.js';

/** One of perdure's metrics, as docs/operations.md lists them. */
interface MetricKind {
  kind: 'counter' | 'histogram' | 'gauge';
  /** Spelt as Prometheus does, whose exporter ends the name with it. */
  unit?: string;
  description: string;
  tags: readonly string[];
}

/**
 * Every metric that a worker writes besides the SDK's own. The `gen_ai_` ones are OpenTelemetry's of generative AI clients
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/), with its attributes, in Prometheus' spelling.
 */
export const metricKinds = {
  perdure_calls: {
    kind: 'counter',
    description: 'tool calls that ended',
    tags: ['tool', 'status', 'error_type'],
  },
  perdure_call_duration: {
    kind: 'histogram',
    unit: 'seconds',
    description: 'from the first start of the body to the outcome, waits included',
    tags: ['tool', 'status'],
  },
  perdure_call_attempts: {
    kind: 'histogram',
    description: 'starts of the body that a call took',
    tags: ['tool', 'status'],
  },
  perdure_attempts: {
    kind: 'counter',
    description: 'starts of a body that ended',
    tags: ['tool', 'error_type'],
  },
  perdure_breaker_state: {
    kind: 'gauge',
    description: 'what this worker heard last of a breaker: 0 closed, 1 half-open, 2 open',
    tags: ['breaker'],
  },
  perdure_runs: {
    kind: 'counter',
    description: 'runs that ended',
    tags: ['status', 'reason'],
  },
  perdure_run_steps: {
    kind: 'histogram',
    description: 'steps that a run took',
    tags: ['status'],
  },
  gen_ai_client_token_usage: {
    kind: 'histogram',
    description: 'tokens of one model turn',
    tags: ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model', 'gen_ai_token_type'],
  },
  gen_ai_client_operation_duration: {
    kind: 'histogram',
    unit: 'seconds',
    description: 'one request to a model',
    tags: ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model', 'error_type'],
  },
} as const satisfies Record<string, MetricKind>;

/** Boundaries of the histograms' buckets, for the exporter: Prometheus' own end at 10, far too soon for what is counted here. */
export const metricBuckets: Record<string, number[]> = {
  // As OpenTelemetry advises for both.
  gen_ai_client_token_usage: [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304],
  gen_ai_client_operation_duration: [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
  ],
  perdure_call_duration: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
  perdure_call_attempts: [0, 1, 2, 3, 5, 10],
  perdure_run_steps: [1, 2, 5, 10, 25, 50, 100, 250, 1000, 10_000],
};

type Metric = { counter: MetricCounter; histogram: MetricHistogram; gauge: MetricGauge };
type MetricsByName = { [Name in keyof typeof metricKinds]: Metric[(typeof metricKinds)[Name]['kind']] };

/**
 * What a worker counts for Prometheus or OpenTelemetry, through the SDK's meter: nothing where its runtime has no metrics
 * exporter. What is counted here is of this process; exact figures of all runs are in the store (`perdure stats`).
 */
export class Metrics {
  readonly #metrics: MetricsByName;

  constructor(meter: MetricMeter) {
    this.#metrics = Object.fromEntries(
      Object.entries<MetricKind>(metricKinds).map(([name, { kind, unit, description }]) => {
        if (kind === 'counter') return [name, meter.createCounter(name, unit, description)];
        if (kind === 'gauge') return [name, meter.createGauge(name, 'int', unit, description)];
        return [name, meter.createHistogram(name, 'float', unit, description)];
      }),
    ) as MetricsByName;
  }

  callEnded(outcome: Outcome): void {
    const { tool, status, attempts, elapsedMs } = outcome;
    const errorType = 'failure' in outcome ? outcome.failure.class : '';
    this.#metrics.perdure_calls.add(1, { tool, status, error_type: errorType });
    this.#metrics.perdure_call_duration.record(elapsedMs / 1000, { tool, status });
    this.#metrics.perdure_call_attempts.record(attempts, { tool, status });
  }

  /** A start of the body ended; `failure` is absent where it ended well. */
  attemptEnded(tool: string, failure?: FailureClass): void {
    this.#metrics.perdure_attempts.add(1, { tool, error_type: failure ?? '' });
  }

  /** Of a tool's one breaker; those with keys of their own (`tool:key`) are too many for tags. */
  breakerHeard(breaker: string, verdict: BreakerVerdict): void {
    if (breaker.includes(':')) return;
    this.#metrics.perdure_breaker_state.set({ closed: 0, probe: 1, open: 2 }[verdict.type], { breaker });
  }

  runEnded({ status, termination, counters }: AgentRunResult): void {
    this.#metrics.perdure_runs.add(1, { status, reason: termination.reason });
    this.#metrics.perdure_run_steps.record(counters.steps, { status });
  }

  /** One request to a model; `model` is `provider:model`. */
  modelAnswered(model: string, durationMs: number, failure?: FailureClass): void {
    this.#metrics.gen_ai_client_operation_duration.record(durationMs / 1000, {
      ...genAi(model),
      error_type: failure ?? '',
    });
  }

  tokensUsed(model: string, { inputTokens, outputTokens }: TurnUsage): void {
    const usage = this.#metrics.gen_ai_client_token_usage;
    usage.record(inputTokens, { ...genAi(model), gen_ai_token_type: 'input' });
    usage.record(outputTokens, { ...genAi(model), gen_ai_token_type: 'output' });
  }
}

function genAi(model: string): Record<string, string> {
  const colon = model.indexOf(':');
  return {
    gen_ai_operation_name: 'chat',
    gen_ai_provider_name: colon < 0 ? 'custom' : model.slice(0, colon),
    gen_ai_request_model: model.slice(colon + 1),
  };
}
