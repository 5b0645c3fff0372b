import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  parseHttpDate,
  parseReset,
  parseRetryAfter,
  retryAfterFromBody,
  retryAfterFromHeaders,
} from '../../src/policy/retry-after.js';

const nowMs = Date.parse('2026-10-21T07:26:30Z');

describe('Retry-After', () => {
  test.each<[string, number | undefined]>([
    ['0', 0],
    ['120', 120_000],
    ['0.25', 250],
    ['1.0001', 1_001],
    ['Wed, 21 Oct 2026 07:26:31 GMT', 1_000],
    ['wed, 21 oct 2026 07:26:31 gmt', 1_000],
    ['Wed, 21 Oct 2026 07:26:31 UTC', 1_000],
    ['Wednesday, 21-Oct-26 07:26:31 GMT', 1_000],
    ['Wed Oct 21 07:26:31 2026', 1_000],
    ['Sun Nov  1 00:00:00 2026', 923_610_000],
    ['2026-10-21T07:26:31Z', 1_000],
    ['2026-10-21T09:26:31+02:00', 1_000],
    ['1792567591', 1_000], // a Unix time
    ['5, 5', 5_000], // sent twice
    ['Wed, 21 Oct 2026 07:26:30 GMT', undefined], // now
    ['Sunday, 06-Nov-94 08:49:37 GMT', undefined], // in the past century
    ['2026', 2_026_000], // a number is never a year
    ['2026-10-22', undefined],
    ['Oct 21 2026', undefined],
    ['5 minutes', undefined],
    ['-0', undefined],
  ])('%s', (value, expected) => {
    expect(parseRetryAfter(value, nowMs)).toBe(expected);
  });

  test('a two-digit year more than 50 years ahead is in the past century', () => {
    expect(parseHttpDate('Tuesday, 06-Nov-76 08:49:37 GMT', nowMs)).toBe(Date.UTC(2076, 10, 6, 8, 49, 37));
    expect(parseHttpDate('Sunday, 06-Nov-77 08:49:37 GMT', nowMs)).toBe(Date.UTC(1977, 10, 6, 8, 49, 37));
  });

  test('the exact header wins', () => {
    const headers = { 'retry-after-ms': '1234.5', 'retry-after': '9', 'x-ratelimit-reset': '60' };
    expect(retryAfterFromHeaders(headers, nowMs, { rateLimited: true })).toBe(1_235);
  });

  test.each([-3_600_000, 3_600_000])('a date counts from the answer, by a clock that is off by %d ms', (offMs) => {
    const date = 'Wed, 21 Oct 2026 07:26:30 GMT';
    const at = (headers: Record<string, string>) =>
      retryAfterFromHeaders({ date, ...headers }, nowMs + offMs, { rateLimited: true });
    expect(at({ 'retry-after': 'Wed, 21 Oct 2026 07:26:50 GMT' })).toBe(20_000);
    expect(at({ 'retry-after': '20' })).toBe(20_000);
    expect(at({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '2026-10-21T07:26:40Z' })).toBe(10_000);
  });
});

describe('an answer from a cache', () => {
  const date = 'Wed, 21 Oct 2026 07:26:30 GMT';
  const asked = (headers: Record<string, string>, atMs = nowMs) =>
    retryAfterFromHeaders({ date, ...headers }, atMs, { rateLimited: true });

  test.each<[string, number | undefined]>([
    ['50', 10_000],
    [' 50 , 7', 10_000],
    ['0', 60_000],
    ['60', undefined], // that time has come
    ['90', undefined],
    ['-5', 60_000],
    ['soon', 60_000],
    ['1e9', 60_000],
  ])('of Age %s names a point in time, which has come nearer since it was written', (age, expected) => {
    const until = 'Wed, 21 Oct 2026 07:27:30 GMT';
    expect(asked({ age, 'retry-after': until })).toBe(expected);
    expect(asked({ age, 'retry-after': until }, nowMs + 3_600_000)).toBe(expected);
    expect(asked({ age, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '2026-10-21T07:27:30Z' })).toBe(expected);
  });

  test('names seconds, which count from when it is received', () => {
    expect(asked({ age: '50', 'retry-after': '60' })).toBe(60_000);
    expect(asked({ age: '90', 'retry-after': '60' })).toBe(60_000);
  });

  test('without a Date counts by the own clock', () => {
    expect(asked({ date: '', age: '50', 'retry-after': 'Wed, 21 Oct 2026 07:26:50 GMT' })).toBe(20_000);
  });
});

describe('reset times', () => {
  test.each<[string, number | undefined]>([
    ['6m0s', 360_000],
    ['59.744s', 59_744],
    ['1d2h', 93_600_000],
    ['500us', 1],
    ['17', 17_000],
    ['1h30', undefined],
    ['soon', undefined],
  ])('%s', (value, expected) => {
    expect(parseReset(value, nowMs)).toBe(expected);
  });

  const of = (headers: Record<string, string>) => retryAfterFromHeaders(headers, nowMs, { rateLimited: true });
  test('the last of the empty buckets decides', () => {
    expect(
      of({
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '2s',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '7s',
      }),
    ).toBe(7_000);
    expect(
      of({
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2026-10-21T07:26:40Z',
        'anthropic-ratelimit-requests-remaining': '9',
        'anthropic-ratelimit-requests-reset': '2026-10-21T08:00:00Z',
      }),
    ).toBe(10_000);
  });
  test('a bucket that has something left says nothing', () => {
    expect(of({ 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': '30' })).toBeUndefined();
  });
  test('the field of the IETF draft, in both spellings', () => {
    expect(of({ ratelimit: 'limit=10, remaining=0, reset=30' })).toBe(30_000);
    expect(of({ ratelimit: '"default";r=0;t=12' })).toBe(12_000);
    expect(of({ 'ratelimit-remaining': '0', 'ratelimit-reset': '4' })).toBe(4_000);
  });
});

test('bodies that name a wait as a number', () => {
  expect(retryAfterFromBody({ message: 'You are being rate limited.', retry_after: 64.57 })).toBe(64_570);
  expect(retryAfterFromBody({ error: { retry_after_ms: 12.2 } })).toBe(13);
  expect(retryAfterFromBody({ retry_after: -1 })).toBeUndefined();
  expect(
    retryAfterFromBody({ error: { details: [{ '@type': 'x/google.rpc.RetryInfo', retryDelay: '-3s' }] } }),
  ).toBeUndefined();
});

test('no text at all gives a wait that is negative, NaN, infinite or broken', () => {
  const nearly = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[-+0-9.eE:, a-zA-Z]{0,40}$/),
    fc.double().map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  );
  fc.assert(
    fc.property(nearly, fc.integer({ min: 0, max: 4e12 }), (text, at) => {
      for (const wait of [
        parseRetryAfter(text, at),
        parseReset(text, at),
        retryAfterFromHeaders({ 'retry-after': text, 'x-ratelimit-reset': text }, at, { rateLimited: true }),
      ]) {
        if (wait !== undefined) expect(Number.isSafeInteger(wait) && wait >= 0).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('every future HTTP date is read to the second', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2e9 }), (seconds) => {
      const date = new Date(nowMs + seconds * 1000);
      expect(parseRetryAfter(date.toUTCString(), nowMs)).toBe(seconds * 1000);
    }),
  );
});
