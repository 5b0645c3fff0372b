import type { Outcome, ToolCall } from '../contract/call.js';
import type { ClassifiedFailure, Failure } from '../contract/failure.js';
import type { JsonObject } from '../contract/json.js';
import type { ManifestTool } from '../contract/manifest.js';
import { failureClasses } from '../policy/failure-classes.js';
import type { LedgerRow } from '../contract/ledger.js';
import { describeFailure, isVerbatim, uncutReason } from '../policy/model-message.js';
import type { MessageContext } from '../policy/model-message.js';
import { outcomeRecord } from '../policy/operator-record.js';
import { renderOutcome } from '../policy/render-outcome.js';
import type { RenderContext } from '../policy/render-outcome.js';
import { lostAnswer, maxAttemptsOf } from '../policy/retry-rule.js';
import { policyOf } from '../policy/stricter-effect.js';
import { kindOfOutput, shapeFailureOutput, verbatimTokens } from '../results/failure-output.js';
import { bytesPerToken } from '../results/tokens.js';
import type { RecordedOutcome, RenderedMessage } from '../store/records.js';
import type { Tool } from '../tools/tool.js';
import { asLatestOfCall } from './asking-execution.js';
import type { Services } from './services.js';
import { traceIdOf } from './trace-id.js';

export interface RecorderOptions {
  services: Services;
  input: { call: Omit<ToolCall, 'arguments'>; consecutiveFailures?: number };
  tool: ManifestTool | undefined;
  live: Tool | undefined;
  /** Names that the model may use, for an unknown tool. */
  offeredTools?: string[];
}

export type FailedOutcome = Outcome & { status: 'failed' | 'aborted' };

/**
 * Words one call's failures for both readers, from one source: the operator's record and the model's message. What is
 * made here is stored once and never made again, so that a replayed run shows the model the same bytes.
 */
export class CallRecorder {
  readonly #services: Services;
  readonly #input: RecorderOptions['input'];
  readonly #tool: ManifestTool | undefined;
  readonly #live: Tool | undefined;
  readonly #offeredTools: string[] | undefined;
  #args: { value: unknown; json: JsonObject } | undefined;

  constructor(options: RecorderOptions) {
    this.#services = options.services;
    this.#input = options.input;
    this.#tool = options.tool;
    this.#live = options.live;
    this.#offeredTools = options.offeredTools;
  }

  /** Once the arguments are known: for the tool's `suggest`, and for the operator. */
  withArguments(json: JsonObject, value: unknown): void {
    this.#args = { json, value };
  }

  /** The failure as the model would read it after `row.starts` starts. */
  describe(failure: ClassifiedFailure, row: LedgerRow | undefined): Failure {
    const known = this.#withKind(failure);
    const context = this.#messageContext(row);
    const described = describeFailure(known, context);
    const suggestion = this.#suggestionFor(described);
    return suggestion ? describeFailure(known, { ...context, suggestion }) : described;
  }

  /** The tool's own measure of what is left to do; one that cannot be had is none, and the operator is told. */
  progressOf(answer: unknown): { progress?: number } {
    if (!this.#live?.progress || !this.#args) return {};
    const { tool, callId } = this.#input.call;
    const warn = (error: string) => {
      this.#services.log.warn('progress could not be measured', { tool, call_id: callId, error });
      return {};
    };
    try {
      const progress: unknown = this.#live.progress(answer, this.#args.value);
      if (progress === undefined) return {};
      return typeof progress === 'number' && Number.isFinite(progress)
        ? { progress }
        : warn(`expected a finite number or undefined, got ${typeof progress}`);
    } catch (error) {
      return warn(String(error));
    }
  }

  /** The outcome of a call that ends with this failure; an answer that was lost for good becomes `outcome_unknown`. */
  failed(failure: ClassifiedFailure, row: LedgerRow | undefined): FailedOutcome {
    const { callId, tool, key } = this.#input.call;
    const nowMs = Date.now();
    const final = this.#final(failure, row, nowMs);
    return {
      status: failureClasses[final.class].status,
      callId,
      tool,
      key,
      attempts: row?.starts ?? 0,
      elapsedMs: elapsedMs(row, nowMs),
      failure: this.describe(final, row),
      // What no body ran for measures nothing.
      ...(row ? this.progressOf(failure.reason ?? '') : {}),
    };
  }

  /**
   * The end of a call whose body failed: the outcome, bounded for the history, and the model's message. What that had to
   * cut is kept whole as an artifact, for `read_artifact`.
   */
  async ended(
    failure: ClassifiedFailure,
    row: LedgerRow | undefined,
  ): Promise<{ outcome: FailedOutcome; rendered: RenderedMessage }> {
    const outcome = this.failed(failure, row);
    const final = this.#withKind(this.#final(failure, row, Date.now()));
    return { outcome, rendered: this.render(outcome, await this.#whole(final, this.#messageContext(row), outcome)) };
  }

  async #whole(
    failure: ClassifiedFailure,
    context: MessageContext,
    outcome: FailedOutcome,
  ): Promise<Pick<RenderContext, 'message' | 'truncated'>> {
    const whole = uncutReason(failure, context);
    if (whole === undefined) return {};
    const keep = () => this.#services.store.putBody(new TextEncoder().encode(JSON.stringify(whole)));
    if (!isVerbatim(failure, context)) {
      const shown = Math.min(outcome.failure.message.length, whole.length);
      return { truncated: { shown, total: whole.length, artifactId: await keep() } };
    }
    const fits = Buffer.byteLength(whole) <= verbatimTokens * bytesPerToken;
    const { text, truncated } = shapeFailureOutput(whole, fits ? {} : { artifactId: await keep() });
    if (!truncated) return { message: text };
    const { shown, total, artifact_id: artifactId } = truncated;
    return { message: text, truncated: { shown, total, artifactId } };
  }

  #messageContext(row: LedgerRow | undefined): MessageContext {
    const { call } = this.#input;
    const { manifest, redactor } = this.#services;
    return {
      tool: this.#tool,
      toolName: this.#tool?.modelName ?? call.tool,
      attempts: row?.starts ?? 0,
      messages: this.#live?.messages,
      redact: (text: string) => redactor.text(text),
      shownName: (name) => manifest.tools.find((tool) => tool.name === name)?.modelName ?? name,
      ...(this.#offeredTools ? { offeredTools: this.#offeredTools } : {}),
    };
  }

  #final(failure: ClassifiedFailure, row: LedgerRow | undefined, nowMs: number): ClassifiedFailure {
    return lostAnswer(failure, {
      effect: this.#tool ? policyOf(row, this.#tool.policy).effect : { kind: 'once' },
      mayHaveHappened: row?.mayHaveHappened ?? false,
      ...(row?.firstStartAtMs === undefined ? {} : { firstStartAtMs: row.firstStartAtMs }),
      nowMs,
    });
  }

  render(outcome: FailedOutcome, shown: Pick<RenderContext, 'message' | 'truncated'> = {}): RenderedMessage {
    const tool = this.#tool;
    const maxAttempts = tool
      ? maxAttemptsOf({ failure: { class: outcome.failure.class }, policy: tool.policy })
      : failureClasses[outcome.failure.class].maxAttempts;
    return {
      content: renderOutcome(outcome, {
        ...shown,
        ...(tool ? { toolName: tool.modelName } : {}),
        ...(typeof maxAttempts === 'number' ? { maxAttempts } : {}),
        consecutiveFailures: (this.#input.consecutiveFailures ?? 0) + 1,
      }),
      failed: true,
    };
  }

  /** The outcome as it is stored under the call's key where no claim is held. */
  recorded(outcome: FailedOutcome): RecordedOutcome {
    const { key, runKey, callId, tool, digest } = this.#input.call;
    return { key, runKey, callId, tool, digest, outcome, rendered: this.render(outcome) };
  }

  /**
   * Ends the call where no claim is held, and returns what is recorded: an outcome that was stored before; else `ifNone`, or
   * `ifUnknown` where an earlier start may have had its effect. Whoever may still run it can change nothing any more.
   */
  async seal(ends: { ifNone: ClassifiedFailure; ifUnknown: ClassifiedFailure }): Promise<Outcome> {
    const { runKey, callId, tool, digest, key } = this.#input.call;
    const { store } = this.#services;
    const row = (await store.getCall(key))?.row;
    const ifNone = this.failed(ends.ifNone, row && { ...row, mayHaveHappened: false });
    const ifUnknown = this.failed(ends.ifUnknown, row && { ...row, mayHaveHappened: true });
    const effect = this.#tool?.policy.effect ?? { kind: 'once' };
    const event = { type: 'seal', call: { runKey, callId, tool, digest, effect }, ifNone, ifUnknown } as const;
    const renderings = { ifNone: this.render(ifNone), ifUnknown: this.render(ifUnknown) };
    const verdict = await asLatestOfCall(this.#services, runKey, (by) => store.applyLedger(key, event, renderings, by));
    if (verdict.type === 'settled') return verdict.outcome;
    throw new TypeError(`sealing ${key} gave ${verdict.type}`);
  }

  /** Ends a call that was refused before anything ran. An earlier start, of another worker, may have run it all the same. */
  async refuse(failure: ClassifiedFailure): Promise<Outcome> {
    const reason = `an earlier start was lost, and then the call was refused${failure.reason ? `: ${failure.reason}` : ''}`;
    const outcome = await this.seal({
      ifNone: failure,
      ifUnknown: { class: 'outcome_unknown', effectState: 'unknown', reason },
    });
    this.logOutcome(outcome, failure);
    return outcome;
  }

  /** One line for each call's end, whether a body ran or not. `unread` are arguments that were refused, as they came. */
  logOutcome(outcome: Outcome, failure?: ClassifiedFailure, unread?: string): void {
    const { redactor, workerIdentity, log } = this.#services;
    const { runKey } = this.#input.call;
    const record = outcomeRecord(
      outcome,
      {
        runKey,
        worker: workerIdentity,
        traceId: traceIdOf(runKey),
        ...(this.#args ? { params: this.#args.json } : unread === undefined ? {} : { params: unread }),
        ...(failure ? { failure } : {}),
      },
      redactor,
    );
    const level = record['alert'] === true ? 'error' : record['error_type'] === undefined ? 'info' : 'warn';
    log[level]('call ended', record);
    this.#services.alerts.add(outcome, runKey, record);
    this.#services.metrics.callEnded(outcome);
  }

  #withKind(failure: ClassifiedFailure): ClassifiedFailure {
    if (this.#tool?.policy.failureOutput !== 'verbatim' || failure.reason === undefined) return failure;
    const kind = failure.kind ?? kindOfOutput(failure.reason);
    return kind === undefined ? failure : { ...failure, kind };
  }

  /** The tool's own `suggest`; one that throws is the tool's trouble, and the failure is told without it. */
  #suggestionFor(failure: Failure): ReturnType<NonNullable<Tool['suggest']>> {
    if (!this.#live?.suggest || !this.#args) return undefined;
    try {
      return this.#live.suggest(this.#args.value, failure);
    } catch (error) {
      this.#services.log.warn('suggest failed', {
        tool: this.#input.call.tool,
        call_id: this.#input.call.callId,
        error,
      });
      return undefined;
    }
  }
}

/** From the first start to now, waits included. */
export function elapsedMs(row: LedgerRow | undefined, nowMs: number): number {
  return row?.firstStartAtMs === undefined ? 0 : Math.max(0, nowMs - row.firstStartAtMs);
}
