import { FailureStats, type FailureFigures } from '../stats/failure-stats.js';
import type { Json } from '../contract/json.js';
import { keyOf } from '../policy/prepared-call.js';
import { createRedactor, type Redactor } from '../policy/redaction.js';
import { countSteps } from '../policy/resume-run.js';
import { Corrections, stepOf } from '../stats/corrections.js';
import type { LedgerRow } from '../contract/ledger.js';
import type { AttemptRecord, CallRecord, TakenBackOutcome } from '../store/records.js';
import type { Store } from '../store/store.js';
import { countersOf, describeOwnCalls } from './run-description.js';

/** Which calls figures are made of. Default: all. */
export interface StatsOptions {
  /** Only calls that ended in this much time before now, milliseconds. Default: all. */
  withinMs?: number;
  /** Only calls of this tool. */
  tool?: string;
}

/** A failed call and the corrected one that followed, redacted: one line of `perdure export failures`. */
export interface FailurePair {
  runKey: string;
  tool: string;
  failed: {
    callId: string;
    step: number;
    /** As the model wrote them; text where they are no JSON. */
    arguments: Json;
    class: string;
    code: string;
    /** What the model was told. */
    message: string;
    suggestedAction: string;
    /** JSON Pointers of refused arguments. */
    invalidPaths: string[];
    endedAtMs: number;
  };
  corrected: { callId: string; step: number; arguments: Json; endedAtMs: number };
}

/** Calls that are read at once: a few megabytes where each has a failure. */
const PAGE_CALLS = 500;
/** Runs whose steps are asked for at once. */
const RUNS_AT_ONCE = 50;

/** What the store's calls tell of failures, over all runs. Reads page by page, and changes nothing. */
export class FailureRecords {
  readonly #store: Store;
  readonly #redactor: Redactor;

  constructor(store: Store, redactor: Redactor = createRedactor({ secrets: [] })) {
    this.#store = store;
    this.#redactor = redactor;
  }

  async stats({ withinMs, tool }: StatsOptions = {}): Promise<FailureFigures> {
    const stats = new FailureStats(tool === undefined ? {} : { tool });
    const sinceMs = withinMs === undefined ? 0 : (await this.#store.now()) - withinMs;
    const takenBack = Map.groupBy(await this.#store.listTakenBack({ sinceMs }), ({ key }) => key);
    for await (const { row, attempts } of this.#calls(sinceMs)) {
      const former = formerRows(row, attempts, takenBack.get(row.key) ?? []);
      for (const one of former) if (one.updatedAtMs >= sinceMs) stats.addTakenBack(one);
      const before = former.reduce((sum, { starts }) => sum + starts, 0);
      stats.add({ ...row, starts: Math.max(0, row.starts - before) }, attempts);
    }
    const runs = stats.runs();
    for (let from = 0; from < runs.length; from += RUNS_AT_ONCE) {
      const some = runs.slice(from, from + RUNS_AT_ONCE);
      const steps = await Promise.all(some.map((runKey) => this.#stepsOf(runKey)));
      some.forEach((runKey, index) => stats.setSteps(runKey, steps[index] ?? 0));
    }
    if (tool === undefined) stats.addTurnAttempts(await this.#store.listTurnAttempts({ sinceMs }));
    return stats.figures();
  }

  /** The same number as in the run's own description. */
  async #stepsOf(runKey: string): Promise<number> {
    const run = await this.#store.getRun(runKey);
    if (run?.result) return run.result.counters.steps;
    if (run && run.head !== '') return countSteps(await this.#store.listTurns(runKey));
    return countersOf(describeOwnCalls(await this.#store.listCalls(runKey))).steps;
  }

  /**
   * Failed calls with the calls that corrected them, as `Corrections` finds them. Left out are those whose arguments no
   * transcript holds: calls of people's own workflows.
   */
  async *pairs({ withinMs, tool }: StatsOptions = {}): AsyncGenerator<FailurePair> {
    const corrections = new Corrections();
    const sinceMs = withinMs === undefined ? 0 : (await this.#store.now()) - withinMs;
    for await (const { row } of this.#calls(sinceMs)) {
      if (tool !== undefined && row.tool !== tool) continue;
      for (const { failed } of corrections.add(row)) {
        const pair = await this.#pair(await this.#store.getCall(failed), row);
        if (pair) yield pair;
      }
    }
  }

  async #pair(record: CallRecord | undefined, corrected: CallRecord['row']): Promise<FailurePair | undefined> {
    const row = record?.row;
    if (!row?.outcome || !('failure' in row.outcome)) return undefined;
    const [before, after] = await Promise.all([this.#argumentsOf(row), this.#argumentsOf(corrected)]);
    if (before === undefined || after === undefined) return undefined;
    const { class: name, code, message, suggestedAction, invalidPaths = [] } = row.outcome.failure;
    return {
      runKey: row.runKey,
      tool: row.tool,
      failed: {
        ...placeOf(row),
        arguments: before,
        class: name,
        code,
        message: this.#redactor.text(message),
        suggestedAction: this.#redactor.text(suggestedAction),
        invalidPaths: invalidPaths.map((path) => this.#redactor.text(path)),
        endedAtMs: row.updatedAtMs,
      },
      corrected: { ...placeOf(corrected), arguments: after, endedAtMs: corrected.updatedAtMs },
    };
  }

  /** From the transcript. By key: after a reset, a call id may stand in several branches. */
  async #argumentsOf({ runKey, callId, key }: CallRecord['row']): Promise<Json | undefined> {
    const turns = await this.#store.listTurns(runKey);
    const turn = turns.find(({ result }) => result.calls.some((call) => keyOf(call) === key));
    const message = turn && (await this.#store.getNode(turn.result.head))?.message;
    if (message?.role !== 'assistant') return undefined;
    const written = message.calls.find((call) => call.callId === callId)?.rawArguments;
    return written === undefined ? undefined : redactedArguments(written, this.#redactor);
  }

  /** In the order of their first writing. */
  async *#calls(sinceMs: number): AsyncGenerator<CallRecord> {
    for (let after: number | undefined = 0; after !== undefined;) {
      const page: Awaited<ReturnType<Store['listCallsSince']>> = await this.#store.listCallsSince({
        sinceMs,
        after,
        limit: PAGE_CALLS,
      });
      yield* page.calls;
      after = page.next;
    }
  }
}

/**
 * The call as it stood with each outcome that was taken back: since the end of its last start, or since a person's word after
 * that, which no start belongs to.
 */
function formerRows(
  row: LedgerRow,
  attempts: readonly AttemptRecord[],
  takenBack: readonly TakenBackOutcome[],
): LedgerRow[] {
  return takenBack.map(({ atMs, outcome }, index) => {
    const formerlyAtMs = takenBack[index - 1]?.atMs ?? 0;
    const own = attempts.filter(({ startedAtMs }) => startedAtMs > formerlyAtMs && startedAtMs <= atMs);
    const ends = own.flatMap(({ endedAtMs }) => (endedAtMs !== undefined && endedAtMs <= atMs ? [endedAtMs] : []));
    const updatedAtMs = ends.at(-1) ?? (formerlyAtMs || atMs);
    return { ...row, outcome, starts: Math.min(outcome.attempts, own.length), updatedAtMs };
  });
}

function placeOf({ callId }: CallRecord['row']): { callId: string; step: number } {
  return { callId, step: stepOf(callId) ?? 0 };
}

/** As JSON where it is some, so that values are masked by the names of their fields as well. */
function redactedArguments(written: string, redactor: Redactor): Json {
  let value: Json;
  try {
    value = JSON.parse(written) as Json;
  } catch {
    return redactor.text(written);
  }
  return redactor.json(value);
}
