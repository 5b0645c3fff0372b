import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { httpTool, type FailureClass, type HttpToolOptions, type RetryOption, type Tool } from '../../../src/index.js';
import { playScene, type Scene } from '../../support/agent-scene.js';

type Options = HttpToolOptions<object, unknown>;

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** What the service answers under a path, by the number of the request; the last one is repeated. */
const answers: Record<string, Answer[]> = {
  bad: [{ status: 422, body: { detail: [{ loc: ['body', 'amount'], msg: 'must be positive', type: 'value_error' }] } }],
  gone: [{ status: 410 }],
  forbidden: [{ status: 403, body: { message: 'this key may read only' } }],
  conflict: [{ status: 409, body: { error: { message: 'already shipped' } } }],
  unsupported: [{ status: 405 }],
  quota: [{ status: 429, body: { error: { code: 'insufficient_quota', message: 'You exceeded your current quota' } } }],
  limited: [
    { status: 429, headers: { 'retry-after': '1' } },
    { status: 200, body: { ok: true } },
  ],
  limited_for_long: [{ status: 429, headers: { 'retry-after': '3600' } }],
  says_no: [{ status: 503, headers: { 'x-should-retry': 'false' } }],
  says_yes: [
    { status: 409, headers: { 'x-should-retry': 'true' } },
    { status: 200, body: { ok: true } },
  ],
  edge: [
    {
      status: 522,
      headers: { 'content-type': 'text/html', server: 'cloudflare' },
      body: '<!DOCTYPE html><html><head><title>522: Connection timed out</title></head><body><h1>Connection timed out</h1></body></html>',
    },
  ],
  overloaded: [
    { status: 529, body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } },
    { status: 200, body: { ok: true } },
  ],
  broken: [{ status: 500, body: { message: 'stack overflow in /srv/app.js' } }],
  login_page: [
    { status: 200, headers: { 'content-type': 'text/html' }, body: '<html><body>Please sign in</body></html>' },
  ],
  declared: [{ status: 200, body: { ok: false, error: 'account_locked' } }],
};
const requests: { path: string; atMs: number; authorization: string | undefined }[] = [];
let token = 'old';
let refreshes = 0;

function serve(request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '/').slice(1).split('?')[0] ?? '';
  const before = requests.filter((each) => each.path === path).length;
  requests.push({ path, atMs: performance.now(), authorization: request.headers.authorization });
  if (path.startsWith('reset')) return void request.socket.destroy();
  if (path.startsWith('guarded')) return guarded(request, (answer) => send(response, answer));
  send(response, answers[path]?.[before] ?? answers[path]?.at(-1) ?? { status: 404 });
}

function send(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  response.writeHead(status, {
    ...(headers['content-type'] ? {} : { 'content-type': 'application/json' }),
    ...headers,
  });
  response.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
}

/** The first three requests come with the old token and are refused: two together, and the third after the refresh. */
const refused: (() => void)[] = [];
function guarded(request: IncomingMessage, answer: (answer: Answer) => void): void {
  if (request.headers.authorization === 'Bearer new') return answer({ status: 200, body: { ok: true } });
  const refuse = () => answer({ status: 401, body: { message: 'token expired' } });
  if (!request.url?.startsWith('/guarded?')) return refuse();
  refused.push(refuse);
  if (refused.length < 3) return;
  refused.splice(0, 2).forEach((each) => each());
  setTimeout(() => refused.forEach((each) => each()), 600);
}

const quick: Partial<Record<FailureClass, RetryOption>> = Object.fromEntries(
  (
    [
      'network_error',
      'external_service_unavailable',
      'server_error',
      'protocol_error',
      'conflict_in_progress',
      'timeout',
    ] as const
  ).map((name) => [name, { baseDelayMs: 1, maxDelayMs: 1 }]),
);
let url: string;
const tool = (name: string, more: Partial<Options> = {}): Tool =>
  httpTool({
    name,
    description: 'd',
    input: { type: 'object', properties: {} },
    method: 'POST',
    url: `${url}/${name}`,
    effect: { idempotent: 'key' },
    retry: quick,
    ...more,
  });

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return (server.address() as AddressInfo).port;
}

let scene: Scene;
let tools: Tool[];
const service = createServer(serve);
const notTls = createTcpServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n'));
beforeAll(async () => {
  url = `http://127.0.0.1:${String(await listening(service))}`;
  const plainPort = await listening(notTls);
  const closed = createTcpServer();
  const closedPort = await listening(closed);
  await new Promise((resolve) => closed.close(resolve));
  const renewing: Partial<Options> = {
    headers: () => ({ authorization: `Bearer ${token}` }),
    refresh: async () => {
      refreshes += 1;
      await new Promise((resolve) => setTimeout(resolve, 300));
      token = 'new';
    },
  };
  tools = [
    ...Object.keys(answers).map((name) => tool(name)),
    tool('reset'),
    tool('reset_once', { effect: 'once' }),
    tool('refused', { url: `http://127.0.0.1:${String(closedPort)}/` }),
    tool('unknown_host', { url: 'http://no-such-host.invalid/' }),
    tool('no_tls', { url: `https://127.0.0.1:${String(plainPort)}/` }),
    tool('guarded', { ...renewing, url: `${url}/guarded?who=me` }),
    tool('guarded_in_vain', { headers: { authorization: 'Bearer stale' }, refresh: () => undefined }),
    tool('refused_business', {
      url: `${url}/declared`,
      isFailure: (result: unknown) =>
        (result as { ok: boolean }).ok ? false : { class: 'business_rule_violation', message: 'the account is locked' },
    }),
  ];
  const calls = tools.map(({ definition }) => ({ tool: definition.name }));
  scene = await playScene({
    config: { tools, limits: { steps: 5 } },
    model: [
      { calls: [...calls, { tool: 'guarded', input: { n: 2 } }, { tool: 'guarded', input: { n: 3 } }] },
      { text: 'done' },
    ],
  });
});
afterAll(() => {
  service.close();
  notTls.close();
});

const told = (name: string) => {
  const index = tools.findIndex(({ definition }) => definition.name === name);
  return { told: scene.told[`c1.${String(index)}`], sent: requests.filter(({ path }) => path === name) };
};

describe('answers of a real service', () => {
  it.each<[string, Record<string, unknown>, number]>([
    ['bad', { status: 'failed', error_type: 'validation_error', retryable: false }, 1],
    ['gone', { status: 'failed', error_type: 'not_found' }, 1],
    ['forbidden', { status: 'aborted', error_type: 'permission_denied', action_required: 'ask_person' }, 1],
    [
      'conflict',
      { error_type: 'business_rule_violation', message: 'The request to conflict was refused: already shipped.' },
      1,
    ],
    ['unsupported', { status: 'aborted', error_type: 'unsupported' }, 1],
    ['quota', { status: 'aborted', error_type: 'quota_exhausted', retryable: false }, 1],
    ['limited', { status: 'succeeded' }, 2],
    ['limited_for_long', { error_type: 'rate_limit', retryable: true, retry_after_seconds: 3600 }, 1],
    ['says_no', { error_type: 'external_service_unavailable', retryable: false }, 1],
    ['says_yes', { status: 'succeeded' }, 2],
    ['edge', { error_type: 'external_service_unavailable', retryable: true, effect_state: 'unknown' }, 3],
    ['overloaded', { status: 'succeeded' }, 2],
    ['broken', { error_type: 'server_error', retryable: false }, 2],
    ['login_page', { error_type: 'protocol_error' }, 2],
    ['reset', { error_type: 'network_error', effect_state: 'unknown' }, 3],
    ['reset_once', { error_type: 'outcome_unknown', action_required: 'check_first' }, 1],
    ['refused', { error_type: 'network_error', context: expect.objectContaining({ attempt: 3 }) }, 0],
    ['unknown_host', { status: 'aborted', error_type: 'misconfigured' }, 0],
    ['no_tls', { error_type: expect.stringMatching(/^(?:misconfigured|protocol_error)$/) }, 0],
    [
      'refused_business',
      {
        error_type: 'business_rule_violation',
        message: 'The request to refused_business was refused: the account is locked.',
      },
      0,
    ],
  ])('%s', (name, expected, sent) => {
    const seen = told(name);
    expect(seen.told).toMatchObject(expected);
    expect(seen.sent).toHaveLength(sent);
  });
  it('exhaustion says after how many attempts, and no page reaches the model', () => {
    expect(told('edge').told?.['message']).toBe(
      'The service behind edge is down at the moment and gave no usable answer (HTTP 522) after 3 attempts. The call may still have taken effect, in whole or in part.',
    );
    expect(JSON.stringify(scene.told)).not.toMatch(/<html|<!DOCTYPE/i);
  });
  it('Retry-After is waited for', () => {
    const [first, second] = told('limited').sent;
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(990);
  });
  it('the operator has a line for each failed attempt and one for the end, and each attempt is stored', () => {
    const lines = scene.log.filter((line) => line['tool'] === 'edge');
    expect(lines.map(({ msg }) => msg)).toEqual(['attempt failed', 'attempt failed', 'attempt failed', 'call ended']);
    expect(lines[0]).toMatchObject({
      error_type: 'external_service_unavailable',
      upstream_status: 522,
      attempt: 1,
      decision: expect.stringMatching(/^retry in \d+ ms$/) as string,
      duration_ms: expect.any(Number) as number,
      trace_id: expect.any(String) as string,
      stack: expect.stringContaining('HttpAnswerError') as string,
    });
    expect(lines[3]).toMatchObject({ status: 'failed', attempts: 3, error_type: 'external_service_unavailable' });
    expect(scene.log.find((line) => line['tool'] === 'unknown_host' && line['msg'] === 'call ended')).toMatchObject({
      level: 50,
      alert: true,
    });
    expect(scene.calls.find(({ row }) => row.tool === 'edge')?.attempts.map(({ start }) => start)).toEqual([1, 2, 3]);
  });
});

describe('a 401', () => {
  it('is met with one refresh for calls side by side, and each call runs once more', () => {
    const count = tools.length;
    for (const callId of [`c1.${String(count)}`, `c1.${String(count + 1)}`])
      expect(scene.told[callId]).toMatchObject({ status: 'succeeded' });
    expect(told('guarded').told).toMatchObject({ status: 'succeeded' });
    expect(refreshes).toBe(1);
    expect(
      told('guarded')
        .sent.map(({ authorization }) => authorization)
        .sort(),
    ).toEqual([...Array<string>(3).fill('Bearer new'), ...Array<string>(3).fill('Bearer old')]);
  });
  it('that stays is told after one more start, and no second refresh', () => {
    expect(told('guarded_in_vain').told).toMatchObject({ error_type: 'auth_failed', action_required: 'reauthorize' });
    expect(told('guarded_in_vain').sent).toHaveLength(2);
  });
});
