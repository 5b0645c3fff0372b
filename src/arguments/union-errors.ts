import { isObject, type Schema } from './schema-positions.js';
import type { SchemaError } from './validation-protocol.js';

/** What a failed union (`anyOf`, `oneOf`) says in the end. */
export type UnionVerdict =
  /** One alternative was plainly meant: these are its complaints. */
  | { kind: 'meant'; errors: SchemaError[] }
  /** The value is none of the forms. */
  | { kind: 'none' };

/**
 * Replaces the complaints of every alternative of a failed union by one answer. A validator lists them all: forty lines
 * for one wrong field. `errors` are in the validator's order: an alternative's complaints come before their union's.
 */
export function condenseUnions(errors: SchemaError[]): { error: SchemaError; union?: UnionVerdict }[] {
  let kept: { error: SchemaError; union?: UnionVerdict }[] = [];
  for (const error of errors) {
    // The complaint about the branch taken says more than `if` or `$ref` around it.
    if (error.keyword === 'if') continue;
    // That no item fits is the complaint, not how each of them does not.
    if (error.keyword === 'contains') kept = kept.filter((each) => !belongsTo(each.error, error));
    if ((error.keyword !== 'anyOf' && error.keyword !== 'oneOf') || Array.isArray(error.params['passingSchemas'])) {
      kept.push({ error });
      continue;
    }
    const inner = kept.filter((each) => belongsTo(each.error, error));
    kept = kept.filter((each) => !inner.includes(each));
    const meant = meantAlternative(
      inner.map((each) => each.error),
      error,
    );
    if (meant) kept.push(...inner.filter((each) => meant.includes(each.error)));
    else kept.push({ error, union: { kind: 'none' } });
  }
  return kept;
}

function belongsTo(error: SchemaError, union: SchemaError): boolean {
  if (!isAtOrBelow(error.instancePath, union.instancePath)) return false;
  if (error.schemaPath.startsWith(`${union.schemaPath}/`)) return true;
  // Under a `$ref` the path begins again at the referenced schema, so only a sibling of the union is told apart.
  const siblings = union.schemaPath.slice(0, union.schemaPath.lastIndexOf('/') + 1);
  return (
    !error.schemaPath.startsWith(siblings) || referenced(union).some((ref) => error.schemaPath.startsWith(`${ref}/`))
  );
}

/** The complaints of the one alternative whose type and fixed values (discriminators) the value has, if there is one. */
function meantAlternative(errors: SchemaError[], union: SchemaError): SchemaError[] | undefined {
  const alternatives = alternativesOf(union);
  const byAlternative = alternatives.map((alternative, index) => {
    const own = `${union.schemaPath}/${index}/`;
    const ref =
      isObject(alternative) && typeof alternative['$ref'] === 'string' ? `${alternative['$ref']}/` : undefined;
    return errors.filter(
      ({ schemaPath }) => schemaPath.startsWith(own) || (ref !== undefined && schemaPath.startsWith(ref)),
    );
  });
  const possible = byAlternative.filter((own) => own.length > 0 && !own.some((error) => isOtherForm(error, union)));
  return possible.length === 1 ? possible[0] : undefined;
}

/** A complaint that says the value is of another form altogether: its type, or a fixed value directly in it. */
function isOtherForm(error: SchemaError, union: SchemaError): boolean {
  const below = error.instancePath.slice(union.instancePath.length);
  if (below === '') return ['type', 'const', 'enum'].includes(error.keyword);
  const isDirect = below.lastIndexOf('/') === 0;
  return isDirect && (error.keyword === 'const' || (error.keyword === 'enum' && hasOneValue(error)));
}

function hasOneValue(error: SchemaError): boolean {
  const values = (error.parentSchema as { enum?: unknown }).enum;
  return Array.isArray(values) && values.length === 1;
}

function alternativesOf(union: SchemaError): Schema[] {
  return ((union.parentSchema as Record<string, unknown>)[union.keyword] as Schema[] | undefined) ?? [];
}

function referenced(union: SchemaError): string[] {
  return alternativesOf(union).flatMap((each) =>
    isObject(each) && typeof each['$ref'] === 'string' ? [each['$ref']] : [],
  );
}

function isAtOrBelow(path: string, ancestor: string): boolean {
  return path === ancestor || path.startsWith(`${ancestor}/`);
}
