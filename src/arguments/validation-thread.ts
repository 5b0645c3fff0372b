/**
 * The thread in which schemas are compiled and arguments are checked: a hostile schema (a pattern that backtracks without
 * end) hangs this thread, which is then ended and replaced, and never a worker's event loop. It imports packages only, so
 * that Node.js runs it as it is, compiled or not.
 */
import { parentPort } from 'node:worker_threads';
import { Ajv } from 'ajv';
import type { ErrorObject, Options, ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ThreadAnswer, ThreadJob } from './validation-protocol.js';

type AnyAjv = Ajv | Ajv2019 | Ajv2020;

/** A list of a million wrong items has a million errors; this many are enough to say so, or to mend an ordinary list. */
const MAX_ERRORS = 2000;

const compiled = new Map<string, ValidateFunction>();
const metaSchemas = new Map<string, AnyAjv>();

const options: Options = {
  allErrors: true,
  verbose: true,
  strict: false,
  // Unknown formats and keywords are annotations; nothing is printed about them.
  logger: false,
  // `toString` is no property of an empty object.
  ownProperties: true,
  validateSchema: false,
  code: { regExp: Object.assign(regExp, { code: 'regExp' }) },
};

/** Patterns follow the `u` flag by the standard; many in the field do not, and mean the same without it. */
function regExp(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    try {
      return new RegExp(pattern);
    } catch {
      throw error;
    }
  }
}

function newAjv(dialect: string): AnyAjv {
  const ajv =
    dialect === 'draft-07' ? new Ajv(options) : dialect === '2019-09' ? new Ajv2019(options) : new Ajv2020(options);
  addFormats.default(ajv);
  return ajv;
}

/** Compiles by the first dialect whose rules the schema keeps. Throws with words about the first dialect's complaint. */
function compile(schema: object, dialects: string[]): ValidateFunction {
  let complaint = '';
  for (const dialect of dialects) {
    const meta = metaSchemas.get(dialect) ?? newAjv(dialect);
    metaSchemas.set(dialect, meta);
    // A schema of its own instance: two tools may use the same `$id` for different things.
    if (meta.validateSchema(schema) === true) return newAjv(dialect).compile(schema);
    complaint ||= complaintOf(meta.errors ?? []);
  }
  throw new Error(complaint);
}

/** The first complaints of the meta-schema; each appears once for every rule that leads to it. */
function complaintOf(errors: ErrorObject[]): string {
  const words = errors.map(({ instancePath, message }) => `${instancePath || 'the schema'} ${message ?? 'is wrong'}`);
  return [...new Set(words)].slice(0, 3).join('; ');
}

function answer(job: ThreadJob): ThreadAnswer {
  switch (job.kind) {
    case 'check': {
      compile(job.schema, job.dialects);
      for (const pattern of job.patterns) probe(job.id, pattern);
      return { kind: 'valid', id: job.id };
    }
    case 'validate': {
      if (job.schema) compiled.set(job.hash, compile(job.schema, job.dialects));
      const validate = compiled.get(job.hash);
      if (!validate) return { kind: 'unknown_schema', id: job.id };
      if (validate(job.value) === true) return { kind: 'valid', id: job.id };
      return { kind: 'invalid', id: job.id, errors: (validate.errors ?? []).slice(0, MAX_ERRORS).map(plain) };
    }
    case 'forget':
      compiled.clear();
      return { kind: 'valid', id: job.id };
  }
}

function plain(error: ErrorObject): Extract<ThreadAnswer, { kind: 'invalid' }>['errors'][number] {
  return {
    keyword: error.keyword,
    instancePath: error.instancePath,
    schemaPath: error.schemaPath,
    params: error.params,
    parentSchema: error.parentSchema ?? {},
    ...(error.propertyName === undefined ? {} : { propertyName: error.propertyName }),
  };
}

/** Tries texts that make careless patterns backtrack without end; the main thread's time limit is the judge. */
function probe(id: number, pattern: string): void {
  parentPort?.postMessage({ kind: 'probing', id, pattern } satisfies ThreadAnswer);
  const matcher = regExp(pattern, 'u');
  const letters = new Set(['a', 'A', '0', ' ', '-', '_', '.', ...(pattern.match(/[^\\()[\]{}*+?|^$]/g) ?? [])]);
  for (const letter of [...letters].slice(0, 40)) {
    matcher.test(`${letter.repeat(60)}\u0000`);
    matcher.test(`${`${letter}a`.repeat(30)}\u0000`);
  }
}

parentPort?.on('message', (job: ThreadJob) => {
  let reply: ThreadAnswer;
  try {
    reply = answer(job);
  } catch (error) {
    reply = { kind: 'broken', id: job.id, problem: error instanceof Error ? error.message : String(error) };
  }
  parentPort?.postMessage(reply);
});
// Compiling the meta-schema takes longer than most checks; it should not count against the first one's time limit.
compile({}, ['2020-12']);
parentPort?.postMessage({ kind: 'ready', id: 0 } satisfies ThreadAnswer);
