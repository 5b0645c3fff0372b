/**
 * How long a backend asks to wait, from every place where backends say it. All functions are pure and total: they return
 * milliseconds that are finite and 0 or more, or `undefined` where nothing usable was said (then the own back-off holds).
 */
import type { Json } from '../contract/json.js';

/** Header names in lower case. */
export type Headers = Record<string, string>;

/** A number this large cannot be a number of seconds to wait (31 years): it is a time since 1970. */
const EPOCH_SECONDS_FROM = 1e9;
const EPOCH_MS_FROM = 1e12;

/**
 * `Retry-After` (RFC 9110, 10.2.3): whole seconds, or a date as IMF-fixdate, RFC 850 or asctime, all read as GMT.
 * Taken too, because servers send them: seconds with decimals (`1.5` is 1,500 ms), an ISO time with its zone, a Unix
 * time. A time in the past says nothing (clock skew makes it normal), and neither does anything else: `Date.parse` is
 * never asked, since it reads `-3` and `1.5` as dates in 2001.
 */
export function parseRetryAfter(value: string, nowMs: number): number | undefined {
  const text = value.trim();
  if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) return secondsOrEpoch(Number(text), nowMs);
  const dateMs = parseHttpDate(text, nowMs) ?? parseIsoTime(text);
  if (dateMs !== undefined) return untilMs(dateMs, nowMs);
  // A header that was sent twice arrives joined by a comma.
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length > 1 && parts.every((part) => /^\d{1,9}$/.test(part))) return Math.max(...parts.map(Number)) * 1000;
  return undefined;
}

/**
 * The wait that an answer's headers ask for. `retry-after-ms` is the most exact, then `Retry-After`; the rate limit's
 * reset times count only where `rateLimited`, because many services send them with every answer. A point in time counts from
 * the answer's `Date`, where it has one: this machine's clock may be off by an hour, and with it the wait. Where a cache gave
 * the answer, `Date` is when the backend wrote it, and `Age` how long ago that was (RFC 9111, 5.1). A number of seconds is
 * taken as it stands, whatever the `Age`: it counts from the moment that the answer is received (RFC 9110, 10.2.3).
 */
export function retryAfterFromHeaders(
  headers: Headers,
  nowMs: number,
  { rateLimited }: { rateLimited: boolean },
): number | undefined {
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const ms = decimal(headers[name]);
    if (ms !== undefined) return Math.ceil(ms);
  }
  const writtenAtMs = parseHttpDate(headers['date']?.trim() ?? '', nowMs);
  const sentAtMs = writtenAtMs === undefined ? nowMs : writtenAtMs + ageMs(headers);
  const header = headers['retry-after'];
  const asked = header === undefined ? undefined : parseRetryAfter(header, sentAtMs);
  if (asked !== undefined || !rateLimited) return asked;
  return rateLimitReset(headers, sentAtMs);
}

/** Whole seconds, the first of several; 0 where it is missing or says nothing (RFC 9111, 5.1). */
function ageMs(headers: Headers): number {
  const seconds = /^\s*(\d{1,9})\s*(?:,|$)/.exec(headers['age'] ?? '')?.[1];
  return Number(seconds ?? 0) * 1000;
}

interface Bucket {
  remaining?: number;
  resetMs?: number;
}

/**
 * When the bucket that is empty fills again. Of several buckets (requests, tokens) those with nothing left decide, the
 * last of them; a bucket that has something left is not what the caller ran into.
 */
function rateLimitReset(headers: Headers, nowMs: number): number | undefined {
  const buckets = new Map<string, Bucket>();
  const bucket = (name: string): Bucket => {
    const found = buckets.get(name) ?? {};
    buckets.set(name, found);
    return found;
  };
  for (const [rawName, value] of Object.entries(headers)) {
    const name = rawName.toLowerCase();
    const parts =
      /^(?:x-)?rate-?limit-(reset|remaining)(-.+)?$/.exec(name) ??
      reordered(/^anthropic-(?:[a-z-]*)ratelimit-(.+)-(reset|remaining)$/.exec(name));
    if (parts) setBucket(bucket(parts[2] ?? ''), parts[1] ?? '', value, nowMs);
    if (name === 'ratelimit') readStructured(value, bucket(''), nowMs);
  }
  const all = [...buckets.values()];
  const empty = all.filter((each) => each.remaining !== undefined && each.remaining <= 0);
  const deciding = empty.length > 0 ? empty : all.filter((each) => each.remaining === undefined);
  const waits = deciding.flatMap((each) => (each.resetMs === undefined ? [] : [each.resetMs]));
  return waits.length > 0 ? Math.max(...waits) : undefined;
}

function reordered(match: RegExpExecArray | null): string[] | undefined {
  return match ? [match[0], match[2] ?? '', match[1] ?? ''] : undefined;
}

function setBucket(bucket: Bucket, field: string, value: string, nowMs: number): void {
  if (field === 'remaining') {
    const remaining = decimal(value);
    if (remaining !== undefined) bucket.remaining = remaining;
    return;
  }
  const resetMs = parseReset(value, nowMs);
  if (resetMs !== undefined) bucket.resetMs = resetMs;
}

/** The IETF draft's single field, both spellings: `limit=10, remaining=0, reset=30` and `"default";r=0;t=30`. */
function readStructured(value: string, bucket: Bucket, nowMs: number): void {
  const remaining = /\b(?:remaining|r)=(\d{1,15})/.exec(value)?.[1];
  const reset = /\b(?:reset|t)=(\d{1,15})/.exec(value)?.[1];
  if (remaining !== undefined) bucket.remaining = Number(remaining);
  if (reset !== undefined) setBucket(bucket, 'reset', reset, nowMs);
}

/** A reset time: a duration (`6ms`, `1m30s`, `2h15m`), seconds, a Unix time in seconds or milliseconds, or an ISO time. */
export function parseReset(value: string, nowMs: number): number | undefined {
  const text = value.trim();
  const number = decimal(text);
  if (number !== undefined) return secondsOrEpoch(number, nowMs);
  const duration = parseDuration(text);
  if (duration !== undefined) return duration;
  const dateMs = parseIsoTime(text) ?? parseHttpDate(text, nowMs);
  return dateMs === undefined ? undefined : untilMs(dateMs, nowMs);
}

const unitMs: Record<string, number> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};

/** Go's way to write a duration (`1m30s`, `59.7s`, `6ms`), in milliseconds, rounded up. */
function parseDuration(text: string): number | undefined {
  if (!/^(?:\d{1,12}(?:\.\d{1,9})?(?:d|h|ms|m|s|us|µs|ns))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(d|h|ms|m|s|us|µs|ns)/g)) {
    total += Number(amount) * (unitMs[unit ?? ''] ?? 0);
  }
  return usable(roundUp(total));
}

/**
 * The wait in an error's body: `google.rpc.RetryInfo` (a protobuf duration with up to nine decimals, or seconds and
 * nanos), else `retry_after` (seconds) or `retry_after_ms` as a number. Rounded up, never down.
 */
export function retryAfterFromBody(body: Json | undefined): number | undefined {
  const root = Array.isArray(body) ? body[0] : body;
  if (!isObject(root)) return undefined;
  const error = isObject(root['error']) ? root['error'] : root;
  const details = [error['details'], root['details']].flatMap((each) => (Array.isArray(each) ? each : []));
  for (const detail of details) {
    const type = isObject(detail) ? detail['@type'] : undefined;
    if (isObject(detail) && typeof type === 'string' && type.endsWith('google.rpc.RetryInfo')) {
      const ms = protobufDurationMs(detail['retryDelay'] ?? detail['retry_delay']);
      if (ms !== undefined) return ms;
    }
  }
  for (const place of [error, root]) {
    const ms = place['retry_after_ms'] ?? place['retryAfterMs'];
    if (typeof ms === 'number') return usable(roundUp(ms));
    const seconds = place['retry_after'] ?? place['retry_after_seconds'] ?? place['retryAfter'];
    if (typeof seconds === 'number' && seconds < EPOCH_SECONDS_FROM) return usable(roundUp(seconds * 1000));
  }
  return undefined;
}

function protobufDurationMs(value: Json | undefined): number | undefined {
  if (typeof value === 'string') {
    const match = /^(\d{1,12})(?:\.(\d{1,9}))?s$/.exec(value.trim());
    if (!match) return undefined;
    const nanos = Number((match[2] ?? '').padEnd(9, '0'));
    return usable(Number(match[1]) * 1000 + Math.ceil(nanos / 1e6));
  }
  if (!isObject(value)) return undefined;
  const seconds = Number(value['seconds'] ?? 0);
  const nanos = Number(value['nanos'] ?? 0);
  return usable(seconds * 1000 + Math.ceil(nanos / 1e6));
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** The three date forms of RFC 9110, 5.6.7, in epoch milliseconds. The day's name is not checked. */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  const time = String.raw`(\d{2}):(\d{2}):(\d{2})`;
  const imf = new RegExp(String.raw`^[a-z]{3}, (\d{1,2}) ([a-z]{3}) (\d{4}) ${time} (?:GMT|UTC|[+-]0000)$`, 'i').exec(
    text,
  );
  if (imf) return utcMs(imf[3], imf[2], imf[1], imf.slice(4, 7));
  const rfc850 = new RegExp(String.raw`^[a-z]{6,9}, (\d{1,2})-([a-z]{3})-(\d{2}) ${time} (?:GMT|UTC)$`, 'i').exec(text);
  if (rfc850) return utcMs(String(fullYear(Number(rfc850[3]), nowMs)), rfc850[2], rfc850[1], rfc850.slice(4, 7));
  const asctime = new RegExp(String.raw`^[a-z]{3} ([a-z]{3}) +(\d{1,2}) ${time} (\d{4})$`, 'i').exec(text);
  if (asctime) return utcMs(asctime[6], asctime[1], asctime[2], asctime.slice(3, 6));
  return undefined;
}

/** A two-digit year that seems more than 50 years ahead is in the past century (RFC 9110, 5.6.7). */
function fullYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = Math.floor(thisYear / 100) * 100 + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}

function utcMs(
  year: string | undefined,
  monthName: string | undefined,
  day: string | undefined,
  clock: string[],
): number | undefined {
  const month = months.indexOf((monthName ?? '').toLowerCase());
  const [hours = NaN, minutes = NaN, seconds = NaN] = clock.map(Number);
  if (month < 0 || hours > 23 || minutes > 59 || seconds > 60) return undefined;
  const midnight = Date.UTC(Number(year), month, Number(day));
  // `Date.UTC` rolls 31 February over into March; such a date was never meant.
  if (new Date(midnight).getUTCDate() !== Number(day)) return undefined;
  return midnight + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

function parseIsoTime(text: string): number | undefined {
  // With date, time and zone only: without them `Date.parse` guesses.
  if (!/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/i.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isFinite(ms) ? ms : undefined;
}

function secondsOrEpoch(value: number, nowMs: number): number | undefined {
  if (value >= EPOCH_MS_FROM) return untilMs(value, nowMs);
  if (value >= EPOCH_SECONDS_FROM) return untilMs(value * 1000, nowMs);
  return usable(roundUp(value * 1000));
}

function untilMs(dateMs: number, nowMs: number): number | undefined {
  return dateMs > nowMs ? usable(Math.ceil(dateMs - nowMs)) : undefined;
}

/** Up to the next whole millisecond, without being fooled by what 1.001 * 1000 is in binary. */
function roundUp(ms: number): number {
  return Math.ceil(Number(ms.toFixed(6)));
}

function usable(ms: number): number | undefined {
  return Number.isSafeInteger(ms) && ms >= 0 ? ms : undefined;
}

function decimal(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? '';
  return /^\d{1,15}(\.\d{1,9})?$/.test(trimmed) ? Number(trimmed) : undefined;
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
