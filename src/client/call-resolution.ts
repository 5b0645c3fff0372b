import { randomUUID } from 'node:crypto';
import type { Outcome, ResultValue } from '../contract/call.js';
import type { Json } from '../contract/json.js';
import type { ManifestTool } from '../contract/manifest.js';
import { didNotHappen, resolutionText } from '../policy/intervention-words.js';
import { isUnresolved } from '../policy/ledger.js';
import type { LedgerRow } from '../contract/ledger.js';
import { describeFailure } from '../policy/model-message.js';
import type { Redactor } from '../policy/redaction.js';
import { renderOutcome } from '../policy/render-outcome.js';
import { shapeForModel } from '../results/shape-for-model.js';
import type { CallRecord, RenderedMessage, RunRecord } from '../store/records.js';
import type { Store } from '../store/store.js';
import { PerdureError } from './perdure-error.js';
import { userName } from './user-name.js';

/** What a person found out about a call whose outcome is unknown. */
export interface ResolveOptions {
  happened: boolean;
  /** What the call gave, where it happened and a person knows it. Default: not known. */
  result?: Json;
  /** How it was found out; told to the model. */
  note?: string;
  /** Who says it, for the record. Default: the user of this process. */
  by?: string;
}

/** Results up to this size stand in the outcome itself, as they do where a tool gave them. */
const inlineBytes = 4_096;

/** Settles, by a person's word, a call of which nobody knows whether it happened. */
export class CallResolution {
  readonly #store: Store;
  readonly #redactor: Redactor;

  constructor(store: Store, redactor: Redactor) {
    this.#store = store;
    this.#redactor = redactor;
  }

  /** Returns the outcome that stands from now on. Rejects with `usage` where there is nothing to settle. */
  async settle(run: RunRecord, callId: string, options: ResolveOptions): Promise<Outcome> {
    const calls = (await this.#store.listCalls(run.runKey)).filter(({ row }) => row.callId === callId);
    const record = calls.find(({ row }) => isUnresolved(row)) ?? calls[0];
    if (!record) throw noSuchCall(run, callId);
    const { row } = record;
    if (!isUnresolved(row)) throw nothingToSettle(run, row);
    const manifest = await this.#store.getManifest(run.manifestHash);
    const tool = manifest?.tools.find(({ name }) => name === row.tool);
    const { outcome, rendered } = options.happened
      ? await this.#happened(row, options)
      : this.#didNot(row, tool, options);
    const intervened = await this.#store.intervene({
      runKey: run.runKey,
      intervention: {
        kind: 'resolution',
        id: randomUUID(),
        by: options.by ?? userName(),
        ...(options.note === undefined ? {} : { note: options.note }),
        callId,
        key: row.key,
        happened: options.happened,
        tell: resolutionText(row, options.happened, options.note && this.#redactor.text(options.note)),
        ...formerOf(record),
      },
      ledger: [
        {
          key: row.key,
          event: { type: 'resolve', happened: options.happened, outcome, asOfMs: row.updatedAtMs },
          rendered,
        },
      ],
    });
    if (intervened.status === 'recorded') return outcome;
    // It has changed since it was looked at, and nobody knows its end still.
    const { verdict } = intervened;
    if (verdict.type === 'superseded' && verdict.row && isUnresolved(verdict.row)) {
      return await this.settle(run, callId, options);
    }
    if (verdict.type === 'busy') throw stillRuns(run, row, verdict.retryAfterMs);
    throw nothingToSettle(run, verdict.row ?? row);
  }

  async #happened(row: LedgerRow, options: ResolveOptions): Promise<{ outcome: Outcome; rendered: RenderedMessage }> {
    const isKnown = options.result !== undefined;
    const json = this.#redactor.json(options.result ?? null);
    const bytes = new TextEncoder().encode(JSON.stringify(json));
    const bodyId = bytes.length > inlineBytes ? await this.#store.putBody(bytes) : '';
    const shaped = shapeForModel(json, { artifactId: bodyId });
    const result: ResultValue =
      bodyId === '' ? { inline: json } : { bodyId, bytes: bytes.length, preview: JSON.stringify(json).slice(0, 500) };
    const emptyReason = isKnown ? {} : { emptyReason: 'result_not_known' };
    const outcome: Outcome = { ...baseOf(row), status: 'succeeded', result, ...emptyReason };
    const said = options.note === undefined ? '' : ` They add: ${this.#redactor.text(options.note)}`;
    const content = renderOutcome(
      { ...outcome, result: { inline: shaped.json } },
      {
        notes: [`The answer was lost; a person found out that it happened.${said}`],
        ...(shaped.truncated
          ? {
              truncated: {
                shown: shaped.truncated.shown,
                total: shaped.truncated.total,
                artifactId: shaped.truncated.artifact_id,
              },
            }
          : {}),
      },
    );
    return { outcome, rendered: { content, failed: false } };
  }

  #didNot(
    row: LedgerRow,
    tool: ManifestTool | undefined,
    { note }: ResolveOptions,
  ): { outcome: Outcome; rendered: RenderedMessage } {
    const toolName = tool?.modelName ?? row.tool;
    const failure = describeFailure(didNotHappen(note), {
      tool,
      toolName,
      attempts: row.starts,
      redact: (text) => this.#redactor.text(text),
    });
    const outcome: Outcome = { ...baseOf(row), status: 'failed', failure };
    return { outcome, rendered: { content: renderOutcome(outcome, { toolName }), failed: true } };
  }
}

function baseOf(row: LedgerRow) {
  const { callId, tool, key, starts, outcome } = row;
  return { callId, tool, key, attempts: starts, elapsedMs: outcome?.elapsedMs ?? 0 };
}

function formerOf({ row, rendered }: CallRecord): { former?: Outcome; formerShown?: string } {
  return {
    ...(row.outcome ? { former: row.outcome } : {}),
    ...(rendered ? { formerShown: rendered.content } : {}),
  };
}

function noSuchCall(run: RunRecord, callId: string): PerdureError {
  return new PerdureError('usage', `The run ${run.workflowId} has no call "${callId}" that was executed.`, {
    next: `See its calls: perdure show ${run.workflowId}`,
  });
}

function nothingToSettle(run: RunRecord, { callId, tool, outcome }: LedgerRow): PerdureError {
  const how = outcome
    ? `it ended as ${'failure' in outcome ? outcome.failure.class : outcome.status}`
    : 'it has not ended';
  return new PerdureError('usage', `What became of ${callId} (${tool}) is no open question: ${how}.`, {
    next: `perdure show ${run.workflowId} --call ${callId}`,
  });
}

function stillRuns(run: RunRecord, { callId, tool }: LedgerRow, retryAfterMs: number): PerdureError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return new PerdureError('usage', `${callId} (${tool}) may still be running on a worker.`, {
    next: `Ask again in ${seconds} s, when its worker must have answered: perdure show ${run.workflowId} --call ${callId}`,
  });
}
