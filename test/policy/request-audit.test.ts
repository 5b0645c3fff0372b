import { expect, it } from 'vitest';
import { attemptsSeen } from '../../src/contract/seen-requests.js';
import { RequestAudit, type SentRequest } from '../../src/policy/request-audit.js';
import { retryRemedy } from '../../src/policy/retry-owner.js';

type Answer = number | 'no answer';

function post(path: string, change: Partial<SentRequest> & { headers?: Record<string, string> } = {}): SentRequest {
  const { headers = {}, ...rest } = change;
  const header = (name: string) => headers[name];
  return { method: 'POST', host: 'api.example.com', path, query: '', contentLength: 5, header, ...rest };
}

/** What is seen of requests that were answered one after the other. */
function audit(...sent: [SentRequest, Answer][]) {
  const watched = new RequestAudit();
  for (const [request, answer] of sent) watched.add(request).end(answer);
  return watched.seen((text) => text);
}

it('sees nothing where nothing was sent', () => {
  expect(audit()).toBeUndefined();
  expect(attemptsSeen(undefined)).toBeUndefined();
});

it('finds a request that was sent again after an error, and counts all its sendings', () => {
  const seen = audit([post('/charges'), 503], [post('/charges'), 'no answer'], [post('/charges'), 200]);
  expect(seen).toEqual({
    sent: 3,
    retried: [
      { method: 'POST', host: 'api.example.com', path: '/charges', attempts: 3, retries: 2, after: [503, 'no answer'] },
    ],
  });
  expect(attemptsSeen(seen)).toBe(3);
});

it.each([408, 409, 425, 429, 500, 502, 503, 529, 'no answer'] as const)(
  'takes %s for a reason to send again',
  (met) => {
    expect(audit([post('/a'), met], [post('/a'), 200])?.retried).toHaveLength(1);
  },
);

it.each([200, 202, 304, 400, 401, 403, 404, 422] as const)('takes what is sent again after %s for no retry', (met) => {
  const seen = audit([post('/a'), met], [post('/a'), 200]);
  expect(seen).toEqual({ sent: 2 });
  expect(attemptsSeen(seen)).toBe(1);
});

it('tells requests apart by host, path, query, length and idempotency key', () => {
  const others: SentRequest[] = [
    post('/a', { host: 'other.example.com' }),
    post('/b'),
    post('/a', { query: '?page=2' }),
    post('/a', { contentLength: 6 }),
    post('/a', { method: 'PUT' }),
    post('/a', { headers: { 'idempotency-key': 'k2' } }),
  ];
  expect(audit([post('/a'), 503], ...others.map((other): [SentRequest, Answer] => [other, 503]))).toEqual({ sent: 7 });
});

it('takes requests side by side for no retries: the first has met nothing yet', () => {
  const watched = new RequestAudit();
  const first = watched.add(post('/a'));
  const second = watched.add(post('/a'));
  first.end(503);
  second.end(503);
  expect(watched.seen((text) => text)).toEqual({ sent: 2 });
});

it('begins to count anew after a success, and keeps the longest row', () => {
  const seen = audit([post('/a'), 503], [post('/a'), 200], [post('/a'), 500], [post('/a'), 500], [post('/a'), 200]);
  expect(seen?.retried).toEqual([expect.objectContaining({ attempts: 3, retries: 3, after: [503, 500, 500] })]);
});

it('shows a path without ids, and puts together what differs by them alone', () => {
  const of = (id: string): SentRequest => post(`/v1/customers/${id}/charges`);
  const seen = audit([of('cus_9s6X'), 500], [of('cus_9s6X'), 200], [of('cus_7'), 500], [of('cus_7'), 500]);
  expect(seen?.retried).toEqual([
    {
      ...{ method: 'POST', host: 'api.example.com', path: '/v1/customers/*/charges' },
      ...{ attempts: 2, retries: 2, after: [500, 500] },
    },
  ]);
});

it('masks what is secret in a path', () => {
  const watched = new RequestAudit();
  watched.add(post('/hooks/hunter')).end(500);
  watched.add(post('/hooks/hunter'));
  expect(watched.seen((text) => text.replace('hunter', '[masked]'))?.retried?.[0]?.path).toBe('/hooks/[masked]');
});

it.each([
  ['OpenAI/JS 6.1.0', 'openai', 'new OpenAI({ maxRetries: 0 })'],
  ['Anthropic/JS 0.60.0', 'anthropic', 'new Anthropic({ maxRetries: 0 })'],
  ['ai/5.0.1 ai-sdk/provider-utils/3.0.0 runtime/node.js/24', 'ai-sdk', 'maxRetries: 0'],
  ['aws-sdk-js/3.700.0 ua/2.0 os/linux', 'aws-sdk', 'maxAttempts: 1'],
  ['Stripe/v1 NodeBindings/18.0.0', 'stripe', 'maxNetworkRetries: 0'],
  ['got (https://github.com/sindresorhus/got)', 'got', 'retry: { limit: 0 }'],
  ['axios/1.7.0', 'axios', 'axios-retry'],
])('knows %s by its name, and how to switch its retries off', (agent, client, remedy) => {
  const request = post('/a', { headers: { 'user-agent': agent } });
  expect(audit([request, 500], [request, 200])?.retried?.[0]?.client).toBe(client);
  expect(retryRemedy(client)).toContain(remedy);
});

it('names the usual remedies where the client says no name', () => {
  const request = post('/a', { headers: { 'user-agent': 'node' } });
  expect(audit([request, 500], [request, 200])?.retried?.[0]).not.toHaveProperty('client');
  expect(retryRemedy(undefined)).toContain('ky retry: 0');
  expect(retryRemedy('constructor')).toBe(retryRemedy(undefined));
});

it('takes the backend at its word where it says how often it was asked', () => {
  const watched = new RequestAudit();
  watched.add(post('/a')).end(200);
  watched.report(2);
  watched.report(1);
  expect(watched.seen((text) => text)).toEqual({ sent: 1, reported: 3 });
  expect(attemptsSeen({ sent: 1, reported: 3 })).toBe(3);
});

it('goes on counting where a body sends very many different requests', () => {
  const seen = audit(...Array.from({ length: 1_000 }, (_, n): [SentRequest, Answer] => [post(`/a/${String(n)}`), 500]));
  expect(seen).toEqual({ sent: 1_000 });
});
