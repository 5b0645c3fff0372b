import type { ClassifiedFailure, FailureClass } from '../contract/failure.js';
import type { Json, JsonObject } from '../contract/json.js';
import {
  codesIn,
  isHtml,
  isJsonObject,
  namesLongQuota,
  parseBody,
  reasonIn,
  statusIn,
  violationsIn,
} from './answer-body.js';
import { failureClasses } from './failure-classes.js';
import { retryAfterFromBody, retryAfterFromHeaders, type Headers } from './retry-after.js';
import { classOfCode, classOfJsonRpcCode } from './upstream-codes.js';

/** An HTTP answer, read to its end. */
export interface HttpAnswer {
  status: number;
  headers: Record<string, string>;
  /** The body's text, or the JSON that was parsed from it. Text is parsed here where it is JSON. */
  body: Json | string | undefined;
  /** Default: the header's. */
  contentType?: string | undefined;
  /** The request's headers, where known: they tell a lost MCP session from an address that does not exist. */
  requestHeaders?: Record<string, string>;
  /** What a success must be. Default `json`: a page made for browsers, or JSON that was cut, is no answer then. */
  expects?: 'json' | 'any';
}

/** 4xx that say something of their own (RFC 9110 and the registry; 419 to 499 as the named servers use them). */
const classByStatus: Record<number, FailureClass> = {
  401: 'auth_failed',
  402: 'quota_exhausted',
  403: 'permission_denied',
  404: 'not_found',
  405: 'unsupported',
  406: 'unsupported',
  407: 'misconfigured',
  408: 'timeout',
  409: 'business_rule_violation',
  410: 'not_found',
  411: 'misconfigured',
  412: 'business_rule_violation',
  413: 'input_too_large',
  414: 'input_too_large',
  415: 'unsupported',
  419: 'session_expired', // Laravel
  420: 'rate_limit', // Twitter
  421: 'network_error', // wrong connection: may be tried on another (RFC 9110)
  423: 'business_rule_violation',
  424: 'business_rule_violation',
  425: 'network_error', // too early: not processed (RFC 8470)
  426: 'unsupported',
  428: 'business_rule_violation',
  429: 'rate_limit',
  431: 'input_too_large',
  440: 'session_expired', // IIS
  444: 'network_error', // nginx closed the connection
  451: 'permission_denied',
  460: 'timeout', // AWS load balancer: the client went away
  495: 'misconfigured', // nginx: client certificate
  496: 'misconfigured',
  497: 'misconfigured', // nginx: plain HTTP sent to the TLS port
  498: 'auth_failed', // Esri: token expired
  499: 'timeout', // nginx: the client went away
  501: 'unsupported',
  505: 'unsupported',
};

/** Refusals that say before anything else that the request was not processed. */
const unprocessed = new Set([421, 425]);

/**
 * Classifies an answer; `undefined` is a success. The status decides first, then the body's error codes where the status
 * leaves room (400, 403, 409, 429 …). A 2xx with an error in it is classified by the code inside, like a status.
 *
 * The effect state is the table's, as it holds for a caller that sent this one request and followed no redirect. Other
 * callers must not take a `none` from it (`classifyThrown` doesn't). Reads at most the answer; never throws.
 */
export function classifyHttpAnswer(answer: HttpAnswer, nowMs: number): ClassifiedFailure | undefined {
  const headers = lowerCased(answer.headers);
  const body = parseBody(answer.body);
  const { status } = answer;
  if (status >= 200 && status <= 299) return classifySuccess(answer, headers, body, nowMs);
  if (status >= 100 && status <= 399) return classifyLeftOver(status, headers);
  if (status >= 400 && status <= 599) {
    const failureClass = classOfError(
      status,
      headers,
      body,
      lowerCased(answer.requestHeaders ?? {}),
      answer.requestHeaders !== undefined,
      nowMs,
    );
    return describe(failureClass, status, headers, body, nowMs);
  }
  return { class: 'protocol_error', effectState: 'unknown', upstreamStatus: status };
}

function classOfError(
  status: number,
  headers: Headers,
  body: Json | undefined,
  sent: Headers,
  sentKnown: boolean,
  nowMs: number,
): FailureClass {
  if (status >= 500) return classOf5xx(status);
  if (status === 404 || status === 400) {
    const session = lostSession(status, body, sent, sentKnown);
    if (session) return session;
  }
  const idempotency = idempotencyAnswer(status, body);
  if (idempotency) return idempotency;
  const byCode = codesIn(body)
    .map(classOfCode)
    .find((each) => each !== undefined);
  switch (status) {
    case 400:
    case 422:
      return byCode ?? 'validation_error';
    case 403:
      if (byCode === 'rate_limit' || byCode === 'quota_exhausted') return byCode;
      return limited(headers, nowMs) ? 'rate_limit' : 'permission_denied';
    case 409:
      return shouldRetry(headers) === true ? 'conflict_in_progress' : 'business_rule_violation';
    case 429:
      return byCode === 'quota_exhausted' || namesLongQuota(body) ? 'quota_exhausted' : 'rate_limit';
    case 401:
      return byCode === 'permission_denied' && mentions(headers['www-authenticate'], 'insufficient_scope')
        ? 'permission_denied'
        : 'auth_failed';
    default:
      // An unlisted 4xx is a 400 (RFC 9110, 15), unless it says what it is or when to come back.
      return classByStatus[status] ?? byCode ?? (limited(headers, nowMs) ? 'rate_limit' : 'validation_error');
  }
}

function classOf5xx(status: number): FailureClass {
  if ([502, 503, 504, 529, 530].includes(status) || (status >= 520 && status <= 527))
    return 'external_service_unavailable';
  return classByStatus[status] ?? 'server_error';
}

/** GitHub and others refuse with 403 where they mean 429. */
function limited(headers: Headers, nowMs: number): boolean {
  if (retryAfterFromHeaders(headers, nowMs, { rateLimited: false }) !== undefined) return true;
  return headers['x-ratelimit-remaining']?.trim() === '0';
}

/** The server refuses a session that it no longer knows before it runs anything (MCP, Streamable HTTP). */
function lostSession(
  status: number,
  body: Json | undefined,
  sent: Headers,
  sentKnown: boolean,
): FailureClass | undefined {
  const sentSession = sent['mcp-session-id'] !== undefined;
  if (sentSession) return status === 404 || mentions(reasonIn(body), 'session') ? 'session_expired' : undefined;
  const error = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : undefined;
  const says = error?.['code'] === -32001 && mentions(reasonIn(body), 'session');
  return says && !sentKnown ? 'session_expired' : undefined;
}

/**
 * "Still running" heals, "used with other arguments" never does. Stripe and the IETF draft (Idempotency-Key header) use 400,
 * 409 and 422 for both, so the code or the words decide.
 */
function idempotencyAnswer(status: number, body: Json | undefined): FailureClass | undefined {
  if (status !== 400 && status !== 409 && status !== 422) return undefined;
  const codes = codesIn(body);
  const known = codes
    .map(classOfCode)
    .find((each) => each === 'conflict_in_progress' || each === 'idempotency_mismatch');
  if (known) return known;
  const words = [...codes, reasonIn(body) ?? ''].join(' ');
  if (!/idempoten/i.test(words)) return undefined;
  if (/in progress|in[-_ ]use|still|currently|concurrent|being processed|locked/i.test(words))
    return 'conflict_in_progress';
  if (/other|different|another|mismatch|does not match|doesn't match|reuse|already (?:been )?used/i.test(words))
    return 'idempotency_mismatch';
  if (!codes.some((code) => /idempotency_?error/i.test(code))) return undefined;
  return status === 409 ? 'conflict_in_progress' : 'idempotency_mismatch';
}

/** 1xx and 3xx that no client followed. A 303 says that the request was carried out; so may a 301 or 302 after a POST. */
function classifyLeftOver(status: number, headers: Headers): ClassifiedFailure {
  const location = headers['location'];
  if (location === undefined || status < 300)
    return { class: 'protocol_error', effectState: 'unknown', upstreamStatus: status };
  const effectState = status === 307 || status === 308 ? 'none' : 'unknown';
  if (/\b(?:log[-_]?in|sign[-_]?in|sso|oauth2?|auth|authenticate)\b/i.test(location.split(/[?#]/)[0] ?? '')) {
    return { class: 'auth_failed', effectState, upstreamStatus: status, reason: 'the service asks for a new sign-in' };
  }
  return {
    class: 'misconfigured',
    effectState,
    upstreamStatus: status,
    reason: 'the service has moved to another address',
  };
}

function classifySuccess(
  answer: HttpAnswer,
  headers: Headers,
  body: Json | undefined,
  nowMs: number,
): ClassifiedFailure | undefined {
  const contentType = (answer.contentType ?? headers['content-type'] ?? '').toLowerCase();
  const expects = answer.expects ?? 'json';
  const unreadable: ClassifiedFailure = {
    class: 'protocol_error',
    effectState: 'unknown',
    upstreamStatus: answer.status,
  };
  if (typeof body === 'string') {
    if (contentType.includes('event-stream') || /^(?:event|data):/.test(body))
      return errorEvent(body, answer.status, headers, nowMs);
    if (expects === 'any') return undefined;
    if (isHtml(body) || contentType.includes('text/html'))
      return { ...unreadable, reason: 'a web page came instead of data' };
    // A JSON string is `"quoted"` as text; what is left of JSON that does not parse was cut or garbled on the way.
    if (/[/+]json\b/.test(contentType) && typeof answer.body === 'string' && !isCompleteJson(answer.body)) {
      return { ...unreadable, reason: 'the answer was cut off or garbled' };
    }
    return undefined;
  }
  if (!isJsonObject(body)) return undefined;
  // A model's answer without choices is none; see https://platform.openai.com/docs/api-reference/chat/object.
  const noChoices =
    body['choices'] === null ||
    (Array.isArray(body['choices']) && body['choices'].length === 0 && body['object'] === 'chat.completion');
  return (
    errorInside(body, answer.status, headers, nowMs) ??
    (noChoices ? { ...unreadable, reason: 'the answer was empty' } : undefined)
  );
}

function isCompleteJson(text: string): boolean {
  if (text.trim() === '') return true;
  try {
    JSON.parse(text.replace(/^\ufeff/, ''));
    return true;
  } catch {
    return false;
  }
}

/** Keys that stand beside an error in an envelope. Anything else beside it is a resource that merely tells of an error. */
const envelopeKeys = new Set(
  'error errors error_description message msg detail details status statuscode status_code success ok code type title choices data result results request_id requestid request-id trace_id traceid timestamp path jsonrpc extensions needed provided response_metadata warning reason meta metadata user_id'.split(
    ' ',
  ),
);

function errorInside(
  body: JsonObject,
  httpStatus: number,
  headers: Headers,
  nowMs: number,
): ClassifiedFailure | undefined {
  const error = body['error'];
  const errors = body['errors'];
  const refused =
    body['success'] === false || body['ok'] === false || body['status'] === 'error' || body['type'] === 'error';
  const hasErrors = Array.isArray(errors) && errors.length > 0 && (body['data'] ?? null) === null;
  const hasError =
    (typeof error === 'string' && error !== '') || (isJsonObject(error) && Object.keys(error).length > 0);
  const says = hasError || hasErrors || (refused && reasonIn(body) !== undefined);
  if (!says || body['success'] === true || body['ok'] === true) return undefined;
  const status = statusIn(body);
  const alone = Object.keys(body).every(
    (key) => envelopeKeys.has(key.toLowerCase()) || (key === 'id' && 'jsonrpc' in body),
  );
  if (!alone && !refused && status === undefined) return undefined;
  const rpcCode = isJsonObject(error) && typeof error['code'] === 'number' ? error['code'] : undefined;
  const failureClass =
    (rpcCode === undefined ? undefined : classOfJsonRpcCode(rpcCode, reasonIn(body) ?? '')) ??
    (status === undefined ? undefined : classOfError(status, headers, body, {}, true, nowMs)) ??
    codesIn(body)
      .map(classOfCode)
      .find((each) => each !== undefined) ??
    'business_rule_violation';
  return describe(failureClass, status ?? httpStatus, headers, body, nowMs);
}

/** An error event in a stream that began with 200, as Anthropic and OpenAI send them. */
function errorEvent(text: string, status: number, headers: Headers, nowMs: number): ClassifiedFailure | undefined {
  for (const block of text.split(/\r?\n\r?\n|(?=^event:)/m)) {
    const data = [...block.matchAll(/^data: ?(.*)$/gm)].map((line) => line[1]).join('\n');
    const isError = /^event: ?error\s*$/m.test(block);
    if (!isError && !/"error"/.test(data)) continue;
    const body = parseBody(data);
    if (isJsonObject(body)) {
      const found = errorInside(
        isError && body['error'] === undefined ? { error: body } : body,
        status,
        headers,
        nowMs,
      );
      if (found) return found;
    }
    if (isError) return describe('server_error', status, headers, body, nowMs);
  }
  return undefined;
}

/** Classes whose body was written for the caller: their reason is the backend's answer, not its inner state. */
const spokenTo = new Set<FailureClass>([
  'validation_error',
  'not_found',
  'business_rule_violation',
  'quota_exhausted',
  'input_too_large',
]);

function describe(
  failureClass: FailureClass,
  status: number,
  headers: Headers,
  body: Json | undefined,
  nowMs: number,
): ClassifiedFailure {
  const failure: ClassifiedFailure = {
    class: failureClass,
    effectState: unprocessed.has(status) ? 'none' : failureClasses[failureClass].effectState,
    upstreamStatus: status,
  };
  const reason = reasonIn(body);
  if (reason !== undefined) failure.reason = reason;
  if (reason !== undefined && spokenTo.has(failureClass)) failure.public = true;
  const retryAfterMs =
    retryAfterFromHeaders(headers, nowMs, { rateLimited: failureClass === 'rate_limit' }) ?? retryAfterFromBody(body);
  if (retryAfterMs !== undefined && failureClass !== 'quota_exhausted') failure.retryAfterMs = retryAfterMs;
  const explicit = shouldRetry(headers);
  if (explicit !== undefined) failure.shouldRetry = explicit;
  if (failureClass === 'validation_error') {
    const violations = violationsIn(body);
    if (violations.length > 0) failure.violations = violations;
  }
  return failure;
}

function shouldRetry(headers: Headers): boolean | undefined {
  const value = (headers['x-should-retry'] ?? headers['stripe-should-retry'])?.trim().toLowerCase();
  return value === 'true' ? true : value === 'false' ? false : undefined;
}

function mentions(text: string | undefined, word: string): boolean {
  return text?.toLowerCase().includes(word) ?? false;
}

function lowerCased(headers: Record<string, string>): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
}
