import type { Json, JsonObject } from '../contract/json.js';
import { ConfigError } from '../config/config-error.js';
import {
  at,
  checkFunction,
  checkObject,
  checkOneOf,
  checkText,
  checkTexts,
  didYouMean,
  refuseUnknownKeys,
  shown,
} from '../config/check-options.js';
import { pathOf, requireFunction, toolOf, toolOptionNames, type ToolAspects } from './define-tool.js';
import { sendRequest, type HttpAnswer } from './http-request.js';
import { parseUrlTemplate, propertyNames, type UrlTemplate } from './http-template.js';
import { ToolError } from './tool-error.js';
import type { DeclaredFailure, Tool, ToolContext, ToolOptions } from './tool.js';

/** Methods of `httpTool`. */
export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

/** Query values; lists repeat the name, `undefined` and `null` leave it out. */
export type HttpQuery = Record<string, string | number | boolean | null | undefined | (string | number | boolean)[]>;

type PerCall<Input, Value> = (input: Input, ctx: ToolContext) => Value | Promise<Value>;

/** What `httpTool` takes: the options of `defineTool` without a body, and the request in its place. */
export interface HttpToolOptions<Input, Output, Given = Input> extends Omit<
  ToolOptions<Input, Output, Given>,
  'execute' | 'isFailure'
> {
  /** Default `GET`. `GET` and `HEAD` are `read` unless `effect` says otherwise; all others are `once`. */
  method?: HttpMethod;
  /** `https://api.example.com/orders/{orderId}`; `{+path}` keeps slashes. Every place is a property of `input`. */
  url: string;
  /** Names of arguments, or a function. Default for methods without a body: every argument that the URL does not take. */
  query?: string[] | PerCall<Input, HttpQuery>;
  headers?: Record<string, string> | PerCall<Input, Record<string, string>>;
  /**
   * Names of arguments that are sent as a JSON object, or a function that gives JSON, or `fetch` bodies (text, bytes,
   * form). Default for POST, PUT and PATCH: every argument that neither URL nor `query` takes.
   */
  body?: string[] | PerCall<Input, Json | URLSearchParams | FormData | Uint8Array | undefined>;
  response?: {
    /** JSON Pointer to the part that is the result, e.g. `/data/items`. */
    pick?: string;
    /** Makes the result of the body (after `pick`). */
    transform?(body: unknown, answer: { status: number; headers: Record<string, string> }): Output | Promise<Output>;
  };
  /** Finds a refusal in a successful answer. Given the whole body, before `response` looks at it. */
  isFailure?(
    body: unknown,
    answer: { status: number; headers: Record<string, string> },
  ): DeclaredFailure | false | undefined;
  /** Sent with every request that is not GET or HEAD. Default `Idempotency-Key`, the IETF draft's name. */
  idempotencyHeader?: string;
}

const ownOptionNames = ['method', 'url', 'query', 'headers', 'body', 'response', 'idempotencyHeader'];
const httpOptionNames = [...toolOptionNames.filter((name) => name !== 'execute'), ...ownOptionNames];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/**
 * Makes a tool of one HTTP request by native fetch: no retries, redirects only for reads and within the same origin. Its
 * failures say whether the request was sent, so that a refused connection may be tried again even where `effect` is
 * `once`. Throws `ConfigError` for any mistake.
 */
export function httpTool<Input = JsonObject, Output = unknown, Given = Input>(
  options: HttpToolOptions<Input, Output, Given>,
): Tool {
  checkObject('tools', options);
  const path = pathOf(options);
  refuseUnknownKeys(path, options, httpOptionNames);
  const method = checkOneOf(at(path, 'method'), options.method ?? 'GET', methods);
  const { url, query, headers, body, response, idempotencyHeader } = options;
  const isSafe = method === 'GET' || method === 'HEAD';
  const tool = toolOf(path, aspectsOf(options), {
    source: 'http',
    ...(isSafe ? { defaultEffect: { kind: 'read' } } : {}),
    execute: (value, ctx) => executeRequest(plan, value as Record<string, unknown>, ctx),
  });
  const template = parseUrlTemplate(at(path, 'url'), checkText(at(path, 'url'), url), tool.definition.inputSchema);
  const known = propertyNames(tool.definition.inputSchema);
  checkMapping(at(path, 'query'), query, known);
  checkMapping(at(path, 'body'), body, known);
  if (isSafe && body !== undefined) throw new ConfigError(at(path, 'body'), `a ${method} request has no body`);
  checkResponse(at(path, 'response'), response);
  requireFunction(path, options, 'isFailure', 'optional');
  checkHeaders(at(path, 'headers'), headers);
  const keyHeader = checkText(at(path, 'idempotencyHeader'), idempotencyHeader ?? 'Idempotency-Key');
  checkHeaders(at(path, 'idempotencyHeader'), { [keyHeader]: 'x' });
  const plan: RequestPlan = {
    method,
    template,
    query: query as RequestPlan['query'],
    headers: headers as RequestPlan['headers'],
    body: body as RequestPlan['body'],
    pick: response?.pick,
    transform: response?.transform?.bind(response),
    isFailure: options.isFailure?.bind(options),
    keyHeader: isSafe ? undefined : keyHeader,
    maxBytes: tool.definition.policy.maxOutputBytes,
    follows: isSafe && tool.definition.policy.effect.kind === 'read',
  };
  return tool;
}

/** What `defineTool` has too. The refusal detector is not among it: it looks at the answer, not at the result. */
function aspectsOf(options: object): ToolAspects {
  const shared = Object.entries(options).filter(([name]) => !ownOptionNames.includes(name) && name !== 'isFailure');
  return Object.fromEntries(shared) as unknown as ToolAspects;
}

type Arguments = Record<string, unknown>;

/** An HTTP tool's options, checked. */
interface RequestPlan {
  method: HttpMethod;
  template: UrlTemplate;
  query: string[] | PerCall<Arguments, HttpQuery> | undefined;
  headers: Record<string, string> | PerCall<Arguments, Record<string, string>> | undefined;
  body: string[] | PerCall<Arguments, unknown> | undefined;
  pick: string | undefined;
  transform: ((body: unknown, answer: HttpAnswer) => unknown) | undefined;
  isFailure: ((body: unknown, answer: HttpAnswer) => DeclaredFailure | false | undefined) | undefined;
  keyHeader: string | undefined;
  maxBytes: number;
  follows: boolean;
}

async function executeRequest(plan: RequestPlan, input: Arguments, ctx: ToolContext): Promise<unknown> {
  const url = plan.template.fill(input);
  for (const [name, value] of queryPairs(await queryOf(plan, input, ctx))) url.searchParams.append(name, value);
  const { body, contentType } = encodeBody(await bodyOf(plan, input, ctx));
  const headers = legalHeaders(await (typeof plan.headers === 'function' ? plan.headers(input, ctx) : plan.headers));
  setDefault(headers, 'accept', 'application/json, text/*;q=0.9, */*;q=0.5');
  if (contentType !== undefined) setDefault(headers, 'content-type', contentType);
  // Set last: no mapping of arguments to headers may replace the key.
  if (plan.keyHeader !== undefined) headers.set(plan.keyHeader, ctx.idempotencyKey);
  const { method, maxBytes, follows } = plan;
  const answer = await sendRequest({
    method,
    url,
    headers,
    signal: ctx.signal,
    maxBytes,
    follows,
    ...(body === undefined ? {} : { body }),
  });
  const refusal = plan.isFailure?.(answer.body, answer);
  if (refusal) throw errorOfRefusal(refusal);
  return resultOf(plan, answer);
}

async function queryOf(plan: RequestPlan, input: Arguments, ctx: ToolContext): Promise<HttpQuery> {
  if (typeof plan.query === 'function') return plan.query(input, ctx);
  if (plan.query) return pickFields(input, plan.query) as HttpQuery;
  return plan.body === undefined && !sendsBody(plan.method) ? (without(input, plan.template.names) as HttpQuery) : {};
}

async function bodyOf(plan: RequestPlan, input: Arguments, ctx: ToolContext): Promise<unknown> {
  if (typeof plan.body === 'function') return plan.body(input, ctx);
  if (plan.body) return pickFields(input, plan.body);
  if (!sendsBody(plan.method)) return undefined;
  return without(input, [...plan.template.names, ...(Array.isArray(plan.query) ? plan.query : [])]);
}

function sendsBody(method: HttpMethod): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

function pickFields(input: Arguments, names: string[]): Arguments {
  return Object.fromEntries(names.filter((name) => Object.hasOwn(input, name)).map((name) => [name, input[name]]));
}

function without(input: Arguments, names: string[]): Arguments {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !names.includes(name)));
}

function queryPairs(query: HttpQuery): [string, string][] {
  return Object.entries(query).flatMap(([name, value]: [string, unknown]): [string, string][] => {
    if (value === undefined || value === null) return [];
    const values: unknown[] = Array.isArray(value) ? value : [value];
    return values.map((each) => [name, typeof each === 'string' ? each : JSON.stringify(each)]);
  });
}

function encodeBody(body: unknown): { body?: NonNullable<RequestInit['body']>; contentType?: string } {
  if (body === undefined) return {};
  if (body instanceof URLSearchParams || body instanceof FormData) return { body };
  if (body instanceof Uint8Array) return { body: new Uint8Array(body), contentType: 'application/octet-stream' };
  if (typeof body === 'string') return { body, contentType: 'text/plain; charset=utf-8' };
  return { body: JSON.stringify(body), contentType: 'application/json' };
}

function legalHeaders(given: Record<string, string> | undefined): Headers {
  try {
    return new Headers(given);
  } catch {
    // The platform's own message quotes the value, which may be a secret.
    throw new ToolError({
      class: 'misconfigured',
      effect: 'none',
      message: `the headers function gave an illegal name or value among: ${Object.keys(given ?? {}).join(', ')}`,
    });
  }
}

function setDefault(headers: Headers, name: string, value: string): void {
  if (!headers.has(name)) headers.set(name, value);
}

function errorOfRefusal({ class: failureClass, message, ...rest }: DeclaredFailure): ToolError {
  // An explicit refusal did nothing, unless it says so.
  return new ToolError({ ...rest, class: failureClass, effect: rest.effect ?? 'none', publicMessage: message });
}

async function resultOf(plan: RequestPlan, answer: HttpAnswer): Promise<unknown> {
  if (plan.method === 'HEAD' && !plan.transform) return { status: answer.status, headers: answer.headers };
  const picked = plan.pick === undefined ? answer.body : partAt(answer.body, plan.pick);
  return plan.transform ? plan.transform(picked, answer) : picked;
}

/** RFC 6901. A part that is not there is `undefined`, which reads as an empty result. */
function partAt(body: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (part, key) =>
        typeof part === 'object' && part !== null && Object.hasOwn(part, key) ? (part as Arguments)[key] : undefined,
      body,
    );
}

function checkMapping(path: string, mapping: unknown, known: Set<string> | undefined): void {
  if (mapping === undefined || typeof mapping === 'function') return;
  if (!Array.isArray(mapping)) {
    throw new ConfigError(path, `expected a list of argument names or a function, got ${shown(mapping)}`);
  }
  checkTexts(path, mapping).forEach((name, index) => {
    if (known && !known.has(name)) {
      throw new ConfigError(at(path, index), `'${name}' is no property of the input schema${didYouMean(name, known)}`);
    }
  });
}

function checkResponse(path: string, response: unknown): void {
  if (response === undefined) return;
  const given = checkObject(path, response);
  refuseUnknownKeys(path, given, ['pick', 'transform']);
  const { pick, transform } = given;
  if (transform !== undefined) checkFunction(at(path, 'transform'), transform);
  if (pick !== undefined && !(typeof pick === 'string' && /^(\/[^~]*(~[01][^~]*)*)+$/.test(pick))) {
    throw new ConfigError(at(path, 'pick'), `expected a JSON Pointer such as '/data/items', got ${shown(pick)}`);
  }
}

function checkHeaders(path: string, headers: unknown): void {
  if (headers === undefined || typeof headers === 'function') return;
  for (const [name, value] of Object.entries(checkObject(path, headers))) {
    const where = at(path, name);
    if (value === undefined) throw new ConfigError(where, 'has no value; is an environment variable missing?');
    // The value itself is never quoted: it may be a secret.
    if (typeof value !== 'string') throw new ConfigError(where, `expected text, got a ${typeof value}`);
    if (/\b(undefined|null)$/.test(value)) {
      throw new ConfigError(where, "ends with 'undefined' or 'null'; is an environment variable missing?");
    }
    try {
      new Headers([[name, value]]);
    } catch {
      throw new ConfigError(where, 'is no legal header name or value');
    }
  }
}
