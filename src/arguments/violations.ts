import type { ClassifiedFailure, Violation } from '../contract/failure.js';
import type { Json, JsonObject } from '../contract/json.js';
import { describeSchema, formatWords, joinOr, literal, oneOf, shortPattern, typeWords } from './describe-schema.js';
import { exampleOf } from './example-value.js';
import { placeName, pointerTo, valueAt } from './json-pointer.js';
import type { ExactNumber } from './json-scanner.js';
import { nearestNames } from '../tools/tool-names.js';
import { isObject, type Schema } from './schema-positions.js';
import { followRefs } from './schema-refs.js';
import { condenseUnions } from './union-errors.js';
import type { SchemaError } from './validation-protocol.js';

/** More than a model can use at once; the rest is counted. */
const MAX_VIOLATIONS = 25;
/** An example longer than this hides what it is an example of. */
const MAX_EXAMPLE_BYTES = 400;

export interface RejectedValue {
  value: Json;
  schema: JsonObject;
  errors: SchemaError[];
  /** Numbers that stand as text in `value`. */
  exactNumbers: ExactNumber[];
  /** Correct arguments by the tool's author. */
  examples: JsonObject[];
}

/** The failure for arguments that break their schema: every violation at once, in the order of the arguments. */
export function schemaFailure(rejected: RejectedValue): ClassifiedFailure {
  const { violations, more } = violationsOf(rejected);
  const isMissing = condenseUnions(rejected.errors).some(({ error }) => error.keyword === 'required');
  return {
    class: 'validation_error',
    code: isMissing ? 'PARAM_MISSING_001' : 'PARAM_INVALID_001',
    effectState: 'none',
    // The violations say it all; a reason beside them would say it twice.
    ...(more > 0
      ? { reason: `${violations.length + more} things are wrong, these are the first ${violations.length}` }
      : {}),
    public: true,
    violations,
    ...(violations.some(isTooPrecise) ? { hint: NO_ROUNDING } : {}),
  };
}

/** Words every complaint; those about one place and thing become one. */
export function violationsOf(rejected: RejectedValue): { violations: Violation[]; more: number } {
  const byProblem = new Map<string, Violation>();
  const rounded = new Map(rejected.exactNumbers.map(({ path, digits }) => [path, digits]));
  const errors = condenseUnions(rejected.errors);
  const listed = new Set(errors.filter(({ error }) => isListOfValues(error)).map(({ error }) => error.instancePath));
  for (const { error, union } of errors) {
    // What the values are says what type they have.
    if (error.keyword === 'type' && listed.has(error.instancePath) && !rounded.has(error.instancePath)) continue;
    const digits = rounded.get(error.instancePath);
    const violation =
      digits === undefined ? wordError(error, union !== undefined, rejected) : tooPrecise(error, digits);
    if (violation)
      byProblem.set(`${violation.path} ${violation.problem}`, { ...violation, path: cut(violation.path, 300) });
  }
  const all = [...byProblem.values()];
  return { violations: all.slice(0, MAX_VIOLATIONS), more: Math.max(0, all.length - MAX_VIOLATIONS) };
}

function isListOfValues({ keyword }: SchemaError): boolean {
  return keyword === 'enum' || keyword === 'const';
}

const TOO_PRECISE = 'which a number cannot carry without being rounded';

const NO_ROUNDING =
  'Do not send a rounded number, it would name something else. Send the digits as text where an argument or another tool takes text; otherwise say that this value cannot be passed.';

function isTooPrecise({ problem }: Violation): boolean {
  return problem.includes(TOO_PRECISE);
}

function tooPrecise(error: SchemaError, digits: string): Violation {
  const shown = digits.length <= 40 ? digits : `${digits.slice(0, 37)}…`;
  return {
    path: error.instancePath,
    problem: `is ${shown}, ${TOO_PRECISE}, and this argument does not take text`,
    expected: 'a number of at most 15 digits',
  };
}

function wordError(error: SchemaError, isUnion: boolean, rejected: RejectedValue): Violation | undefined {
  const { keyword, instancePath, params } = error;
  const parent = error.parentSchema as JsonObject;
  if (error.propertyName !== undefined) return wordNameError(error, error.propertyName);
  if (keyword === 'propertyNames') return undefined;
  if (keyword === 'required' || keyword === 'dependentRequired' || keyword === 'dependencies') {
    return missing(error, String(params['missingProperty']), rejected);
  }
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') {
    return unknownArgument(error, String(params['additionalProperty'] ?? params['unevaluatedProperty']), rejected);
  }
  if (keyword === 'false schema') {
    return { path: instancePath, problem: 'is not allowed here', expected: 'leave it out' };
  }
  const value = valueAt(rejected.value, instancePath);
  const problem = isUnion ? noForm(value) : problemOf(error, parent, value);
  return withExample(
    {
      path: instancePath,
      problem: `${problem}${isUnion || keyword === 'type' ? '' : `, but is ${shown(value)}`}`,
      expected: describeSchema(rejected.schema, parent),
    },
    parent,
    rejected,
  );
}

function noForm(value: Json | undefined): string {
  if (typeof value === 'object' && value !== null) return 'has none of the allowed forms';
  return `is ${shown(value)}, which is none of the allowed forms`;
}

function problemOf({ keyword, params }: SchemaError, parent: JsonObject, value: Json | undefined): string {
  const limit = numberIn(params, 'limit', 'minContains', 'len');
  switch (keyword) {
    case 'type':
      return `must be ${joinOr([params['type']].flat().map((type) => typeWords(String(type))))}, but is ${shown(value)}`;
    case 'enum':
      return `must be ${oneOf((parent['enum'] as Json[] | undefined) ?? [])}`;
    case 'const':
      return `must be exactly ${literal(params['allowedValue'] as Json)}`;
    case 'format':
      return mustHaveFormat(String(params['format']));
    case 'pattern': {
      const format = typeof parent['format'] === 'string' ? parent['format'] : '';
      const pattern = String(params['pattern']);
      return formatWords(format) === undefined ? `must match ${shortPattern(pattern)}` : mustHaveFormat(format);
    }
    case 'minLength':
      return `must have at least ${counted(limit, 'character')}`;
    case 'maxLength':
      return `must have at most ${counted(limit, 'character')}`;
    case 'minItems':
      return `must have at least ${counted(limit, 'item')}`;
    case 'maxItems':
      return `must have at most ${counted(limit, 'item')}`;
    case 'minProperties':
      return `must have at least ${counted(limit, 'field')}`;
    case 'maxProperties':
      return `must have at most ${counted(limit, 'field')}`;
    case 'minimum':
      return `must be ${limit} or more`;
    case 'maximum':
      return `must be ${limit} or less`;
    case 'exclusiveMinimum':
      return `must be more than ${limit}`;
    case 'exclusiveMaximum':
      return `must be less than ${limit}`;
    case 'multipleOf':
      return `must be a multiple of ${String(params['multipleOf'])}`;
    case 'uniqueItems':
      return `must not list the same item twice (items ${String(params['j'])} and ${String(params['i'])})`;
    case 'contains':
      return `must contain at least ${counted(limit, 'item')} of the form asked for`;
    case 'items':
    case 'additionalItems':
    case 'unevaluatedItems':
      return `must not have more than ${counted(limit, 'item')}`;
    case 'oneOf':
      return 'fits more than one of the allowed forms, and must fit exactly one';
    case 'not':
      return 'has a form that is not allowed';
    default:
      return `breaks the rule "${keyword}" of its schema`;
  }
}

/** The first of the parameters that is there; validators name the same bound differently by keyword. */
function numberIn(params: SchemaError['params'], ...names: string[]): string {
  return String(names.map((name) => params[name]).find((value) => typeof value === 'number') ?? '');
}

function mustHaveFormat(format: string): string {
  const words = formatWords(format);
  return words === undefined ? `must have the format ${cut(format)}` : `must be ${words}`;
}

function missing(error: SchemaError, key: string, rejected: RejectedValue): Violation {
  const path = pointerTo(error.instancePath, key);
  const sent = valueAt(rejected.value, error.instancePath);
  const schema = propertySchema(error.parentSchema as JsonObject, key, rejected.schema, error.instancePath);
  const declared = knownProperties(rejected.schema, error.parentSchema as JsonObject);
  const others = isObject(sent) ? Object.keys(sent).filter((other) => !declared.includes(other)) : [];
  const [near] = nearestNames(key, others);
  const because = error.keyword === 'required' ? '' : ` (needed beside ${String(error.params['property'])})`;
  const problem = `is missing${because}${near === undefined ? '' : ` (you sent ${JSON.stringify(near)} instead)`}`;
  return withExample({ path, problem, expected: describeSchema(rejected.schema, schema) }, schema, rejected);
}

function unknownArgument(error: SchemaError, key: string, rejected: RejectedValue): Violation {
  const known = knownProperties(rejected.schema, error.parentSchema as JsonObject);
  const sent = valueAt(rejected.value, error.instancePath);
  const [near] = nearestNames(
    key,
    known.filter((other) => !isObject(sent) || !Object.hasOwn(sent, other)),
  );
  const where = error.instancePath === '' ? '' : ` in ${placeName(error.instancePath)}`;
  return {
    path: pointerTo(error.instancePath, key),
    problem: `is an unknown argument${where}${near === undefined ? '' : ` (did you mean ${near}?)`}`,
    expected:
      known.length === 0
        ? 'no arguments here'
        : `only ${known.slice(0, 20).join(', ')}${known.length > 20 ? ', …' : ''}`,
  };
}

function wordNameError(error: SchemaError, key: string): Violation {
  const path = pointerTo(error.instancePath, key);
  return {
    path,
    problem: `is not allowed as a name: it ${problemOf(error, error.parentSchema as JsonObject, key)}`,
    expected: `a name that is ${describeSchema(true, { type: 'string', ...error.parentSchema })}`,
  };
}

/** Adds the tool's own example for the place, else one made from the schema. */
function withExample(violation: Violation, schema: Schema, rejected: RejectedValue): Violation {
  const given = rejected.examples
    .map((example) => valueAt(example, violation.path))
    .find((value) => value !== undefined);
  const example = given ?? exampleOf(rejected.schema, schema);
  if (example === undefined || JSON.stringify(example).length > MAX_EXAMPLE_BYTES) return violation;
  return { ...violation, example };
}

function propertySchema(parent: JsonObject, key: string, root: JsonObject, at: string): Schema {
  const own = propertiesOf(parent);
  if (Object.hasOwn(own, key)) return own[key] as Schema;
  // `required` may stand in a part of an allOf whose properties stand in the root.
  const fromRoot = at === '' ? propertiesOf(root) : {};
  return Object.hasOwn(fromRoot, key) ? (fromRoot[key] as Schema) : true;
}

function propertiesOf(schema: JsonObject): JsonObject {
  return isObject(schema['properties']) ? schema['properties'] : {};
}

/** The properties that a schema names, in its parts too. */
function knownProperties(root: JsonObject, schema: Schema, depth = 0): string[] {
  const target = followRefs(root, schema);
  if (!isObject(target) || depth > 5) return [];
  const parts = [target['allOf'], target['anyOf'], target['oneOf']].flat().filter((part) => isObject(part));
  const conditional = [target['then'], target['else']].filter((part) => isObject(part));
  const inParts = [...parts, ...conditional].flatMap((part) => knownProperties(root, part, depth + 1));
  return [...new Set([...Object.keys(propertiesOf(target)), ...inParts])];
}

function shown(value: Json | undefined): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'string') return `the text ${literal(value)}`;
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return literal(value);
}

function counted(count: string, noun: string): string {
  return `${count} ${noun}${count === '1' ? '' : 's'}`;
}

function cut(text: string, characters = 80): string {
  return text.length <= characters ? text : `${text.slice(0, characters - 1).toWellFormed()}…`;
}
