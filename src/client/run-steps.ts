import type { Outcome } from '../contract/call.js';
import type { RecordedCall } from '../contract/transcript.js';
import { keyOf } from '../policy/prepared-call.js';
import { turnsOf } from '../policy/resume-run.js';
import type { CallRecord } from '../store/records.js';
import type { Store } from '../store/store.js';
import {
  describeOwnCalls,
  describeSteps,
  type StepDescription,
  type StoredTurn,
  type WrittenCall,
} from './run-description.js';

/**
 * The steps of one run, for looking at it again and again. What cannot change any more is kept: turns never do, and a call
 * that has its outcome keeps it, unless nobody knows whether it happened and a person settles it, or it failed in or after the
 * last step with calls, which a retry executes again. So a look costs what is new and what is under way, and not the run's length.
 */
export class RunSteps {
  readonly #store: Store;
  readonly #runKey: string;
  readonly #turns: StoredTurn[] = [];
  /** By the turn's node; steps in which a call is still open are not here. */
  readonly #ended = new Map<string, StepDescription>();
  #path: { head: string; turns: StoredTurn[] } = { head: '', turns: [] };

  constructor(store: Store, runKey: string) {
    this.#store = store;
    this.#runKey = runKey;
  }

  /** The steps that the conversation up to `head` is made of; `''` is a person's own workflow, which has calls alone. */
  async upTo(head: string): Promise<StepDescription[]> {
    if (head === '') return describeOwnCalls(await this.#store.listCalls(this.#runKey));
    const isFirst = this.#turns.length === 0;
    this.#turns.push(...(await this.#store.listTurns(this.#runKey, this.#turns.length)));
    if (this.#path.head !== head) this.#path = { head, turns: turnsOf(head, this.#turns) };
    // At the first look one question for all calls; afterwards one for each that is open.
    const all = isFirst ? await this.#allCalls() : undefined;
    const steps: StepDescription[] = [];
    // The calls of last words at a limit were not run: a retry sets them aside and goes on from the turn before.
    const last = this.#path.turns.findLastIndex(({ result }) => result.calls.length > 0 && !result.finalTurn);
    for (const [index, turn] of this.#path.turns.entries()) {
      steps.push(this.#ended.get(turn.result.head) ?? (await this.#describe(turn, all, index >= last)));
    }
    return steps;
  }

  async #allCalls(): Promise<Map<string, CallRecord>> {
    const calls = await this.#store.listCalls(this.#runKey);
    return new Map(calls.map((record) => [record.row.key, record]));
  }

  async #describe(
    turn: StoredTurn,
    known: Map<string, CallRecord> | undefined,
    mayRunAgain: boolean,
  ): Promise<StepDescription> {
    const keys = turn.result.calls.map(keyOf);
    const records = known
      ? keys.map((key) => known.get(key))
      : await Promise.all(keys.map((key) => this.#store.getCall(key)));
    const found = records.filter((record) => record !== undefined);
    const [step] = describeSteps([turn], found, await this.#written(turn));
    if (!step) throw new TypeError('RunSteps: a turn has no step');
    // A call that was never scheduled has no row: it is answered by the turn itself, or waits.
    const isEnded = turn.result.calls.every(
      (call) =>
        call.status === 'answered' ||
        found.some(({ row }) => row.key === call.call.key && isFinal(row.outcome, mayRunAgain)),
    );
    if (isEnded) this.#ended.set(turn.result.head, step);
    return step;
  }

  /** What the model wrote where it could not be read as arguments; the others have theirs in the turn already. */
  async #written({ result }: StoredTurn): Promise<Map<string, WrittenCall>> {
    if (result.calls.every((call) => call.status === 'ready')) return new Map();
    return new Map((await callsIn(this.#store, result.head)).map((call) => [call.callId, call]));
  }
}

/** The calls of an assistant's message, exactly as the model wrote them. */
export async function callsIn(store: Store, node: string): Promise<RecordedCall[]> {
  const message = (await store.getNode(node))?.message;
  return message?.role === 'assistant' ? message.calls : [];
}

function isFinal(outcome: Outcome | undefined, mayRunAgain: boolean): boolean {
  if (!outcome) return false;
  return !('failure' in outcome) || !(mayRunAgain || outcome.failure.class === 'outcome_unknown');
}
