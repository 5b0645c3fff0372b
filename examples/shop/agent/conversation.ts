/** One answered tool call: what was asked, and the message that the model was given. */
export interface Exchange {
  tool: string;
  args: Record<string, unknown>;
  result: ToolResult;
}

/** The parts of a tool message that the script reads. */
export interface ToolResult {
  status: string;
  data?: unknown;
  error_type?: string;
  message?: string;
  retryable?: boolean;
  effect_state?: string;
}

export interface ScriptedCall {
  tool: string;
  args: Record<string, unknown>;
}

/** One turn of the scripted model; one without calls is its last word. */
export interface ScriptedTurn {
  text: string;
  calls: ScriptedCall[];
}

/** Ends the script; the message is its last word. */
export class GivenUp extends Error {
  override readonly name = 'GivenUp';
}

/** A call that failed this often is given up. */
const maxTries = 4;

/** A call that the script wants, and what the conversation says of it so far. */
export class Wanted {
  readonly call: ScriptedCall;
  readonly #answers: { at: number; result: ToolResult }[];

  constructor(call: ScriptedCall, answers: { at: number; result: ToolResult }[]) {
    this.call = call;
    this.#answers = answers;
  }

  get #last(): ToolResult | undefined {
    return this.#answers.at(-1)?.result;
  }

  /** Where its last answer stands in the conversation; -1 where there is none. */
  get lastAt(): number {
    return this.#answers.at(-1)?.at ?? -1;
  }

  get succeeded(): boolean {
    return this.#last?.status === 'succeeded';
  }

  get failed(): boolean {
    return this.#last !== undefined && !this.succeeded;
  }

  /** The shop's rules forbid it: nothing happened, and asking again would not change that. */
  get refused(): boolean {
    return this.failed && this.#last?.error_type === 'business_rule_violation';
  }

  /** It failed, and its effect may be there all the same. */
  get mayHaveHappened(): boolean {
    return this.failed && this.#last?.effect_state !== 'none';
  }

  /** The result's data, once it succeeded; an empty list where the result is empty. */
  data<T>(): T {
    if (!this.succeeded) throw new TypeError(`${this.call.tool} has no result yet`);
    return (this.#last?.data ?? []) as T;
  }

  /** The call, to be made for the first time or once more. Throws `GivenUp` where once more is of no use. */
  ask(): ScriptedCall {
    const last = this.#last;
    if (last && (last.retryable !== true || this.#answers.length >= maxTries)) {
      throw new GivenUp(`I could not finish, because ${this.call.tool} failed. ${last.message ?? ''}`.trim());
    }
    return this.call;
  }
}

export class Conversation {
  readonly #exchanges: Exchange[];

  constructor(exchanges: Exchange[]) {
    this.#exchanges = exchanges;
  }

  /** `after` leaves out what was answered up to that place. */
  want(tool: string, args: Record<string, unknown>, after = -1): Wanted {
    const text = JSON.stringify(args);
    const answers = this.#exchanges.flatMap((exchange, at) =>
      at > after && exchange.tool === tool && JSON.stringify(exchange.args) === text
        ? [{ at, result: exchange.result }]
        : [],
    );
    return new Wanted({ tool, args }, answers);
  }
}
