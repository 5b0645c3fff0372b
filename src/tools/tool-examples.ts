import { createRequire } from 'node:module';
import type { Ajv as AjvClass } from 'ajv';
import type { JsonObject } from '../contract/json.js';
import { ConfigError } from '../config/config-error.js';
import { at, checkObject, shown } from '../config/check-options.js';
import { jsonCopy, type ResolvedSchema } from './tool-schema.js';

/**
 * Copies a tool's examples and checks each against its schema, because a wrong example teaches models the mistake. Throws
 * `ConfigError` with the example's path. A check of the schema library that is asynchronous is left to the run.
 */
export function resolveExamples(path: string, examples: unknown, schema: ResolvedSchema): JsonObject[] {
  if (examples === undefined) return [];
  if (!Array.isArray(examples)) throw new ConfigError(path, `expected a list of arguments, got ${shown(examples)}`);
  const copies = examples.map((example, index) => {
    checkObject(at(path, index), example);
    return jsonCopy(at(path, index), example) as JsonObject;
  });
  if (copies.length === 0) return [];
  const problemOf = schema.standard ? standardProblem(schema.standard) : ajvProblem(path, schema.json);
  copies.forEach((example, index) => {
    const problem = problemOf(example);
    if (problem !== undefined) throw new ConfigError(at(path, index), `does not fit the tool's own schema: ${problem}`);
  });
  return copies;
}

type ProblemOf = (example: JsonObject) => string | undefined;

function standardProblem(standard: NonNullable<ResolvedSchema['standard']>): ProblemOf {
  return (example) => {
    try {
      const result = standard['~standard'].validate(example);
      if (result instanceof Promise) {
        result.catch(() => undefined);
        return undefined;
      }
      const issue = result.issues?.[0];
      if (!issue) return undefined;
      const where = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
      return where === '' ? issue.message : `${where}: ${issue.message}`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
}

const drafts: [RegExp, string][] = [
  [/draft-07|draft-06/, 'ajv'],
  [/2019-09/, 'ajv/dist/2019.js'],
];

function ajvProblem(path: string, schema: JsonObject): ProblemOf {
  // Loaded on demand: ajv costs tens of milliseconds, and most plain schemas come without examples.
  const load = createRequire(import.meta.url);
  const { $schema: dialect } = schema;
  const draft = typeof dialect === 'string' ? drafts.find(([pattern]) => pattern.test(dialect)) : undefined;
  const { default: Ajv } = load(draft?.[1] ?? 'ajv/dist/2020.js') as { default: typeof AjvClass };
  const ajv = new Ajv({ strict: false, logger: false, validateFormats: false });
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(schema);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError(path, `cannot be checked, because the input schema is not valid: ${why}`, { cause: error });
  }
  return (example) => (validate(example) ? undefined : ajv.errorsText(validate.errors, { dataVar: 'the example' }));
}
