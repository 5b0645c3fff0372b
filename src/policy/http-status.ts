/** Which class a failed HTTP status means, together with what the answer says beside it. */
import type { FailureClass } from '../contract/failure.js';
import type { Json } from '../contract/json.js';
import { codesIn, isJsonObject, namesLongQuota, reasonIn } from './answer-body.js';
import { retryAfterFromHeaders, type Headers } from './retry-after.js';
import { classOfCode } from './upstream-codes.js';

/** Statuses that mean one class, whatever else the answer says (RFC 9110 and the registry; 419 to 499 as the named servers use them). */
const classByStatus: Record<number, FailureClass> = {
  402: 'quota_exhausted',
  404: 'not_found',
  405: 'unsupported',
  406: 'unsupported',
  407: 'misconfigured',
  408: 'timeout',
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

/** What is known of a failed answer beside its status. Header names in lower case. */
export interface AnswerFacts {
  headers: Headers;
  body: Json | undefined;
  /** Absent where the request is not known. */
  sent?: Headers | undefined;
  nowMs: number;
}

/** The class of a 4xx or 5xx: the status decides first, then the body's codes and the headers where the status leaves room. */
export function classOfError(status: number, facts: AnswerFacts): FailureClass {
  const { headers, body, nowMs } = facts;
  if (status >= 500) return classOf5xx(status);
  if (status === 404 || status === 400) {
    const session = lostSession(status, facts);
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
      return mentions(headers['www-authenticate'], 'insufficient_scope') ? 'permission_denied' : 'auth_failed';
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
function lostSession(status: number, { body, sent }: AnswerFacts): FailureClass | undefined {
  const names = mentions(reasonIn(body), 'session');
  if (sent?.['mcp-session-id'] !== undefined) return status === 404 || names ? 'session_expired' : undefined;
  const error = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : undefined;
  return sent === undefined && error?.['code'] === -32001 && names ? 'session_expired' : undefined;
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

/** The backend's explicit word (OpenAI's and Stripe's header). */
export function shouldRetry(headers: Headers): boolean | undefined {
  const value = (headers['x-should-retry'] ?? headers['stripe-should-retry'])?.trim().toLowerCase();
  return value === 'true' ? true : value === 'false' ? false : undefined;
}

function mentions(text: string | undefined, word: string): boolean {
  return text?.toLowerCase().includes(word) ?? false;
}
