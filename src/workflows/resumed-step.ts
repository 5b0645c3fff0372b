import type { AnsweredCall, Outcome, PreparedCall } from '../contract/call.js';
import type { ResumedCall } from '../contract/intervention.js';
import { answeredCall } from './answered-call.js';
import { refuse } from './refuse-call.js';
import { answer } from './step-guards.js';

const skipReason = 'an earlier call of this step may or may not have happened';

/** The last step of a run that ended before, with which it goes on: what is settled stays, what is open is executed. */
export class ResumedStep {
  readonly #calls: ResumedCall[];

  constructor(calls: ResumedCall[]) {
    this.#calls = calls;
  }

  /** In the model's order. */
  get open(): PreparedCall[] {
    return this.#calls.flatMap((resumed): PreparedCall[] => {
      switch (resumed.status) {
        case 'open':
          return [{ status: 'ready', call: resumed.call }];
        case 'skipped':
          return [answer(resumed.call, refuse(resumed.call, 'skipped', skipReason))];
        case 'settled':
          return [];
      }
    });
  }

  /** What the model is shown of the whole step, once the open calls have ended. */
  answered(outcomes: Outcome[]): AnsweredCall[] {
    const ended = new Map(outcomes.map((outcome) => [outcome.callId, outcome]));
    return this.#calls.flatMap((resumed): AnsweredCall[] => {
      if (resumed.status === 'settled') return [{ callId: resumed.callId, key: resumed.key }];
      const outcome = ended.get(resumed.call.callId);
      return outcome ? [answeredCall(outcome)] : [];
    });
  }
}
