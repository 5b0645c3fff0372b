/** Reads the bodies of failed answers: the reason in words, the error codes, the fields that were refused. Never throws. */
import type { Violation } from '../contract/failure.js';
import type { Json, JsonObject } from '../contract/json.js';

/** A body that lists more wrong fields than this is not about single fields any more. */
const MAX_VIOLATIONS = 50;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for a page made for browsers, whatever its content type says. */
export function isHtml(text: string): boolean {
  return /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?<(?:!doctype\s+html|html|head|body)\b/i.test(
    text.slice(0, 1_000),
  );
}

/** JSON where the text is JSON, else the text. A byte order mark and Google's `)]}'` guard are skipped. */
export function parseBody(body: Json | string | undefined): Json | undefined {
  if (typeof body !== 'string') return body;
  const text = body.replace(/^\ufeff?(?:\)\]\}',?\s*\n)?/, '').trim();
  if (!/^[{["]/.test(text)) return body;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return body;
  }
}

/**
 * The failure's own words: RFC 9457 problem details, `{error:{message}}`, `{message}`, `{errors:[…]}`, `{detail}`, OAuth's
 * `error_description`, plain text. A page made for browsers says nothing to anybody.
 */
export function reasonIn(body: Json | undefined): string | undefined {
  if (typeof body === 'string') return isHtml(body) ? undefined : textOf(body);
  if (Array.isArray(body)) return reasonIn(body[0]);
  if (!isJsonObject(body)) return undefined;
  const error = body['error'];
  const fromError = isJsonObject(error)
    ? (reasonIn(error) ?? textOf(error['type']) ?? textOf(error['code']))
    : undefined;
  return (
    fromError ??
    textOf(body['detail']) ??
    textOf(body['message']) ??
    textOf(body['error_description']) ??
    textOf(body['Message']) ??
    textOf(body['msg']) ??
    textOf(body['details']) ??
    textOf(body['reason']) ??
    textOf(body['description']) ??
    textOf(error) ??
    listed(body['message']) ??
    listed(body['errors']) ??
    textOf(body['title']) ??
    textOf(body['faultstring'])
  );
}

function listed(value: Json | undefined): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const texts = value.flatMap((each) => {
    if (typeof each === 'string') return [each];
    return isJsonObject(each) && violationOf(each) === undefined ? [reasonIn(each) ?? ''] : [];
  });
  return textOf([...new Set(texts)].filter((each) => each !== '').join('; '));
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** Every code-like string in an error body, the most specific first. Numbers are read by `statusIn`. */
export function codesIn(body: Json | undefined): string[] {
  const root = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(root)) return [];
  const error = root['error'];
  const places = [isJsonObject(error) ? error : undefined, root].filter((place) => place !== undefined);
  const found = places.flatMap((place) => [
    ...firstsOf(place['errors']).flatMap((each) => [
      each['reason'],
      each['code'],
      isJsonObject(each['extensions']) ? each['extensions']['code'] : undefined,
    ]),
    ...firstsOf(place['details']).map((each) => each['reason']),
    place['code'],
    place['type'],
    place['status'],
    place['reason'],
    place['__type'],
    place['Code'],
    place['title'],
  ]);
  return [...found, error].filter(
    (code): code is string => typeof code === 'string' && /^[\w.#/: -]{2,100}$/.test(code),
  );
}

function firstsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.slice(0, 10).filter(isJsonObject) : [];
}

/** An HTTP status that an error object in the body carries (`{"error":{"code":429}}`). */
export function statusIn(body: JsonObject): number | undefined {
  const error = body['error'];
  const places = isJsonObject(error) ? [error['code'], error['status'], error['statusCode']] : [];
  for (const value of [...places, body['statusCode'], body['status_code'], body['code'], body['status']]) {
    const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599) return status;
  }
  return undefined;
}

/** True where the body names a quota that no waiting within a run refills (`google.rpc.QuotaFailure` per day or month). */
export function namesLongQuota(body: Json | undefined): boolean {
  const root = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(root)) return false;
  const error = isJsonObject(root['error']) ? root['error'] : root;
  return firstsOf(error['details'])
    .flatMap((detail) => firstsOf(detail['violations']))
    .some((violation) =>
      [violation['quotaId'], violation['quota_id'], violation['quotaMetric'], violation['subject']].some(
        (name) => typeof name === 'string' && /per[-_ ]?(?:day|week|month|year)|daily|weekly|monthly/i.test(name),
      ),
    );
}

/**
 * The fields that a 400 or 422 names: FastAPI's `detail[]`, Rails' and ASP.NET's `errors{}`, JSON:API's and RFC 9457's
 * `errors[]`, `invalid-params`, Google's `fieldViolations`, `{error:{param}}`. Paths are JSON Pointers into the arguments as
 * far as the body's own naming allows.
 */
export function violationsIn(body: Json | undefined): Violation[] {
  const root = Array.isArray(body) && body.length === 1 ? body[0] : body;
  if (Array.isArray(root)) return root.slice(0, MAX_VIOLATIONS).flatMap((each) => violationOf(each) ?? []);
  if (!isJsonObject(root)) return [];
  const error = isJsonObject(root['error']) ? root['error'] : {};
  const lists = [
    root['detail'],
    root['errors'],
    error['errors'],
    root['invalid-params'],
    root['invalid_params'],
    root['invalidParams'],
    root['violations'],
    ...firstsOf(error['details']).map((detail) => detail['fieldViolations'] ?? detail['field_violations']),
    error['details'],
    root['details'],
    root['message'],
    root['fields'],
  ];
  for (const list of lists) {
    const found = Array.isArray(list) ? list.flatMap((each) => violationOf(each) ?? []) : byField(list);
    if (found.length > 0) return found.slice(0, MAX_VIOLATIONS);
  }
  return violationOf({ param: error['param'] ?? null, message: error['message'] ?? null }) ?? [];
}

/** `{ amount: ['must be positive'], … }` and `{ amount: 'must be positive' }`. */
function byField(value: Json | undefined): Violation[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([field, said]) => {
    const texts = (Array.isArray(said) ? said : [said]).flatMap(
      (each) => textOf(isJsonObject(each) ? each['message'] : each) ?? [],
    );
    return texts.map((problem) => ({ path: pointer(field), problem, expected: '' }));
  });
}

function violationOf(each: Json): Violation[] | undefined {
  if (!isJsonObject(each)) return undefined;
  const source = isJsonObject(each['source']) ? each['source'] : {};
  const place =
    each['loc'] ??
    source['pointer'] ??
    source['parameter'] ??
    each['pointer'] ??
    each['instancePath'] ??
    each['path'] ??
    each['field'] ??
    each['param'] ??
    each['property'] ??
    each['name'];
  if (typeof place !== 'string' && !Array.isArray(place)) return undefined;
  const constraints = isJsonObject(each['constraints'])
    ? Object.values(each['constraints']).flatMap((text) => textOf(text) ?? [])
    : [];
  const problem =
    textOf(each['msg']) ??
    textOf(each['message']) ??
    textOf(each['reason']) ??
    textOf(each['detail']) ??
    textOf(each['description']) ??
    textOf(each['problem']) ??
    textOf(constraints.join('; ')) ??
    textOf(each['title']) ??
    textOf(each['code'])?.replaceAll('_', ' ');
  return problem === undefined ? undefined : [{ path: pointer(place), problem, expected: '' }];
}

/** A service's name of a field as a JSON Pointer: `body.items[0].sku`, `$.items[0].sku`, `["body","items",0,"sku"]`. */
function pointer(place: string | Json[]): string {
  if (typeof place === 'string' && /^#?\//.test(place)) {
    return place.replace(/^#/, '').replace(/^\/data\/(?:attributes\/)?/, '/');
  }
  const keys = Array.isArray(place) ? place.map(String) : place.replace(/^\$\.?/, '').split(/[.[\]]+/);
  const named = keys.filter((key) => key !== '');
  // FastAPI and express-validator put the part of the request first; it is none of the model's arguments.
  if (Array.isArray(place) && /^(body|query|path|header|cookie)$/.test(named[0] ?? '') && named.length > 1)
    named.shift();
  return named.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
