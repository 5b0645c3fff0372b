import type { ClassifiedFailure, FailureClass } from '../contract/failure.js';
import type { Json, JsonObject } from '../contract/json.js';
import { codesIn, isHtml, isJsonObject, parseBody, reasonIn, violationsIn, statusIn } from './answer-body.js';
import { failureClasses } from './failure-classes.js';
import { classOfError, shouldRetry, type AnswerFacts } from './http-status.js';
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
  const { status } = answer;
  const facts: AnswerFacts = {
    headers: lowerCased(answer.headers),
    body: parseBody(answer.body),
    sent: answer.requestHeaders && lowerCased(answer.requestHeaders),
    nowMs,
  };
  if (status >= 200 && status <= 299) return classifySuccess(answer, facts);
  if (status >= 100 && status <= 399) return classifyLeftOver(status, facts.headers);
  if (status >= 400 && status <= 599) {
    return describe(classOfError(status, facts), status, facts);
  }
  return { class: 'protocol_error', effectState: 'unknown', upstreamStatus: status };
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

function classifySuccess(answer: HttpAnswer, facts: AnswerFacts): ClassifiedFailure | undefined {
  const { headers, body } = facts;
  const contentType = (answer.contentType ?? headers['content-type'] ?? '').toLowerCase();
  const expects = answer.expects ?? 'json';
  const unreadable: ClassifiedFailure = {
    class: 'protocol_error',
    effectState: 'unknown',
    upstreamStatus: answer.status,
  };
  if (typeof body === 'string') {
    if (contentType.includes('event-stream') || /^(?:event|data):/.test(body))
      return errorEvent(body, answer.status, facts);
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
    errorInside(body, answer.status, facts) ??
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

function errorInside(body: JsonObject, httpStatus: number, outer: AnswerFacts): ClassifiedFailure | undefined {
  // A session that is lost is told by the real status only.
  const facts: AnswerFacts = { headers: outer.headers, body, sent: {}, nowMs: outer.nowMs };
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
    (status === undefined ? undefined : classOfError(status, facts)) ??
    codesIn(body)
      .map(classOfCode)
      .find((each) => each !== undefined) ??
    'business_rule_violation';
  return describe(failureClass, status ?? httpStatus, facts);
}

/** An error event in a stream that began with 200, as Anthropic and OpenAI send them. */
function errorEvent(text: string, status: number, facts: AnswerFacts): ClassifiedFailure | undefined {
  for (const block of text.split(/\r?\n\r?\n|(?=^event:)/m)) {
    const data = [...block.matchAll(/^data: ?(.*)$/gm)].map((line) => line[1]).join('\n');
    const isError = /^event: ?error\s*$/m.test(block);
    if (!isError && !/"error"/.test(data)) continue;
    const body = parseBody(data);
    if (isJsonObject(body)) {
      const found = errorInside(isError && body['error'] === undefined ? { error: body } : body, status, facts);
      if (found) return found;
    }
    if (isError) return describe('server_error', status, { ...facts, body });
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

function describe(failureClass: FailureClass, status: number, facts: AnswerFacts): ClassifiedFailure {
  const { headers, body, nowMs } = facts;
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

function lowerCased(headers: Record<string, string>): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
}
