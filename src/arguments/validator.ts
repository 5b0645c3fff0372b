import { ConfigError } from '../config/config-error.js';
import type { ClassifiedFailure } from '../contract/failure.js';
import type { Json, JsonObject } from '../contract/json.js';
import type { ModelReply } from '../models/model.js';
import { digestOf } from '../policy/idempotency-key.js';
import { applyCoercions, type Coercion, isRefuted, proposeCoercions } from './coerce.js';
import { exampleOf } from './example-value.js';
import type { ExactNumber } from './json-scanner.js';
import { parseArguments } from './parse-arguments.js';
import { type PreparedSchema, prepareSchema } from './prepare-schema.js';
import { isObject } from './schema-positions.js';
import { type Settled, ThreadHost } from './thread-host.js';
import type { SchemaError } from './validation-protocol.js';
import { schemaFailure } from './violations.js';

export interface ValidatorOptions {
  /** Time for compiling a schema and checking one value, milliseconds. Default 2000: ordinary calls take under 5. */
  timeLimitMs?: number;
}

export interface ValidationRequest {
  schema: JsonObject;
  /** A hash that is equal for equal schemas; made here where absent. */
  schemaHash?: string;
  /** The arguments as the model wrote them, or a value that is JSON already. */
  input: { raw: string; finishReason: ModelReply['finishReason'] } | { value: Json };
  /** Correct arguments by the tool's author, quoted in failures. */
  examples?: JsonObject[];
  /** Whether lossless changes of type are made (`"10"` where only a number fits). Default true. */
  coerce?: boolean;
}

export type ValidationResult =
  | { ok: true; value: JsonObject; repairs: string[] }
  /** `value` is what could be read, where the text was JSON. */
  | { ok: false; failure: ClassifiedFailure; value?: JsonObject };

/** Checks schemas at load and arguments at each call, in a thread of its own. */
export interface Validator {
  /**
   * Resolves where the schema can be used.
   * @throws ConfigError with `path` (which should name the tool) and what is wrong with the schema.
   */
  checkSchema(schema: unknown, path: string): Promise<void>;
  /** Reads, repairs, coerces and checks arguments. Never rejects. */
  validate(request: ValidationRequest): Promise<ValidationResult>;
  /** Ends the thread. Calls that still wait are refused. */
  close(): Promise<void>;
}

const DEFAULT_TIME_LIMIT_MS = 2000;
/** Compiled schemas kept in the thread; a run's catalogue has tens. */
const MAX_COMPILED = 500;
/** Texts inside texts that coercion follows. */
const MAX_COERCION_ROUNDS = 4;

/** Starts nothing before its first use; an idle validator does not keep the process alive. */
export function createValidator(options: ValidatorOptions = {}): Validator {
  return new ThreadValidator(options.timeLimitMs ?? DEFAULT_TIME_LIMIT_MS);
}

/** Repairs are kept with the call; a list of a thousand numbers written as text has a thousand. */
const MAX_REPAIRS = 20;

interface Known extends PreparedSchema {
  hash: string;
}

interface Checked {
  value: JsonObject;
  errors: SchemaError[];
}

class ThreadValidator implements Validator {
  private readonly timeLimitMs: number;
  private readonly host: ThreadHost;
  /** Hashes that the thread has compiled. */
  private readonly compiled = new Set<string>();
  private readonly prepared = new WeakMap<JsonObject, Known>();

  constructor(timeLimitMs: number) {
    this.timeLimitMs = timeLimitMs;
    this.host = new ThreadHost(() => this.compiled.clear());
  }

  async checkSchema(schema: unknown, path: string): Promise<void> {
    const prepared = prepareSchema(schema, path);
    const answer = await this.host.run({ kind: 'check', ...prepared }, this.timeLimitMs);
    const problem = schemaProblem(answer, this.timeLimitMs);
    if (problem !== undefined) throw new ConfigError(path, problem);
  }

  async validate(request: ValidationRequest): Promise<ValidationResult> {
    let known: Known;
    try {
      known = this.known(request.schema, request.schemaHash);
    } catch (error) {
      return { ok: false, failure: unusableSchema(error instanceof Error ? error.message : String(error)) };
    }
    const examples = request.examples ?? [];
    const read = readInput(request.input, known.schema, examples);
    if (!read.ok) return { ok: false, failure: read.failure };
    const { exactNumbers } = read;
    const exact = new Set(exactNumbers.map(({ path }) => path));
    try {
      const first = { value: read.value, errors: await this.check(known, read.value) };
      const { value, errors, coercions } =
        request.coerce === false ? { ...first, coercions: [] } : await this.coerce(known, first, exact);
      if (errors.length === 0) {
        return { ok: true, value, repairs: bounded([...read.repairs, ...coercions.map(({ words }) => words)]) };
      }
      const failure = schemaFailure({ value, schema: known.schema, errors, exactNumbers, examples });
      return { ok: false, failure, value };
    } catch (error) {
      if (error instanceof Unanswered) return { ok: false, failure: error.failure, value: read.value };
      throw error;
    }
  }

  close(): Promise<void> {
    return this.host.close();
  }

  private known(schema: JsonObject, hash: string | undefined): Known {
    const before = this.prepared.get(schema);
    if (before) return before;
    const prepared = prepareSchema(schema, '');
    const known = { ...prepared, hash: hash ?? digestOf([prepared.schema, prepared.dialects]) };
    this.prepared.set(schema, known);
    return known;
  }

  /** Tries lossless changes of type round by round and keeps those that the validator then accepts. */
  private async coerce(
    known: Known,
    start: Checked,
    exact: ReadonlySet<string>,
  ): Promise<Checked & { coercions: Coercion[] }> {
    let current = start;
    const made: Coercion[] = [];
    const refuted = new Set<string>();
    for (let round = 0; round < MAX_COERCION_ROUNDS && current.errors.length > 0; round++) {
      const proposed = proposeCoercions(current.value, current.errors, exact).filter(({ path }) => !refuted.has(path));
      if (proposed.length === 0) break;
      const tried = await this.apply(known, current.value, proposed);
      const bad = proposed.filter((coercion) => isRefuted(coercion, tried.errors));
      for (const { path } of bad) refuted.add(path);
      const good = proposed.filter((coercion) => !bad.includes(coercion));
      current = bad.length === 0 ? tried : await this.apply(known, current.value, good);
      made.push(...good);
    }
    return { ...current, coercions: made };
  }

  private async apply(known: Known, value: JsonObject, coercions: Coercion[]): Promise<Checked> {
    const changed = applyCoercions(value, coercions);
    return { value: changed, errors: await this.check(known, changed) };
  }

  private async check(known: Known, value: JsonObject): Promise<SchemaError[]> {
    const { hash, schema, dialects } = known;
    if (this.compiled.size >= MAX_COMPILED) {
      this.compiled.clear();
      await this.host.run({ kind: 'forget' }, this.timeLimitMs);
    }
    const job = { kind: 'validate', hash, dialects, value } as const;
    let answer = await this.host.run(this.compiled.has(hash) ? job : { ...job, schema }, this.timeLimitMs);
    // The thread was replaced, or told to forget, while this call waited for its turn.
    if (answer.kind === 'unknown_schema') answer = await this.host.run({ ...job, schema }, this.timeLimitMs);
    switch (answer.kind) {
      case 'valid':
      case 'invalid':
        this.compiled.add(hash);
        return answer.kind === 'valid' ? [] : answer.errors;
      case 'timed_out':
        throw new Unanswered(tookTooLong(this.timeLimitMs));
      case 'lost':
      case 'broken':
      case 'unknown_schema':
        throw new Unanswered(unusableSchema(schemaProblem(answer, this.timeLimitMs) ?? 'it could not be read'));
    }
  }
}

/** Leaves the coercion rounds with the failure that ends the call. Never leaves this file. */
class Unanswered extends Error {
  readonly failure: ClassifiedFailure;
  constructor(failure: ClassifiedFailure) {
    super(failure.reason);
    this.failure = failure;
  }
}

type Read =
  | { ok: true; value: JsonObject; repairs: string[]; exactNumbers: ExactNumber[] }
  | { ok: false; failure: ClassifiedFailure };

function readInput(input: ValidationRequest['input'], schema: JsonObject, examples: JsonObject[]): Read {
  const example = examples[0] ?? exampleOf(schema, schema);
  const quoted = isObject(example) ? { example } : {};
  if ('raw' in input) return parseArguments(input.raw, { finishReason: input.finishReason, schema, ...quoted });
  if (isObject(input.value)) return { ok: true, value: input.value, repairs: [], exactNumbers: [] };
  // Says of a value what it says of the same value written as text.
  return parseArguments(JSON.stringify(input.value), { finishReason: 'stop', ...quoted });
}

function bounded(repairs: string[]): string[] {
  const more = repairs.length - MAX_REPAIRS;
  return more <= 0 ? repairs : [...repairs.slice(0, MAX_REPAIRS), `and ${more} more like these`];
}

function tookTooLong(timeLimitMs: number): ClassifiedFailure {
  return {
    class: 'validation_error',
    effectState: 'none',
    reason: `they could not be checked against the tool's schema within ${timeLimitMs / 1000} seconds, so nothing was executed.`,
    public: true,
    hint: 'Send shorter and plainer values, or use another tool.',
  };
}

function unusableSchema(problem: string): ClassifiedFailure {
  return {
    class: 'misconfigured',
    effectState: 'none',
    reason: `The tool's schema cannot be used: ${problem}`,
  };
}

function schemaProblem(answer: Settled, timeLimitMs: number): string | undefined {
  switch (answer.kind) {
    case 'valid':
    case 'invalid':
      return undefined;
    case 'timed_out':
      return answer.pattern === undefined
        ? `checking the schema took more than ${timeLimitMs} ms; it is too large or too intricate`
        : `the pattern ${JSON.stringify(answer.pattern)} takes (nearly) for ever on some texts; write it without nested repetition`;
    case 'lost':
      return `the schema could not be checked: ${answer.problem}`;
    case 'unknown_schema':
      return 'the schema could not be kept';
    case 'broken':
      return brokenProblem(answer.problem);
  }
}

function brokenProblem(problem: string): string {
  const dangling = /can't resolve reference (.*) from id/.exec(problem)?.[1];
  if (dangling !== undefined) {
    return dangling.startsWith('#')
      ? `the reference "${dangling}" points at nothing in the schema`
      : `the reference "${dangling}" is not in the schema, and remote schemas are never fetched`;
  }
  if (/call stack/i.test(problem)) return 'the schema is nested too deeply';
  const cut = problem.length <= 500 ? problem : `${problem.slice(0, 499)}…`;
  return `the schema is not valid: ${cut}`;
}
