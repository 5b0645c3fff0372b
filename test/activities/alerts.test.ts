import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Alerts } from '../../src/activities/alerts.js';
import type { Outcome } from '../../src/contract/call.js';
import type { FailureClass } from '../../src/contract/failure.js';
import { outcomeRecord } from '../../src/policy/operator-record.js';
import { createRedactor } from '../../src/policy/redaction.js';
import type { SharedEvent } from '../../src/policy/shared-state.js';
import { lockTransition, type LockState } from '../../src/policy/exclusive-lock.js';
import type { WorkerStore } from '../../src/store/shared-state.js';
import { callOf } from '../stats/sample-calls.js';

const secret = 'hunter2hunter2';
const redactor = createRedactor({ secrets: [secret] });

let webhook: Server;
let url: string;
let posted: Record<string, unknown>[];
/** How the webhook answers, one after the other, then 204; `never` is no answer. */
let answers: (number | 'never')[];

beforeEach(async () => {
  posted = [];
  answers = [];
  webhook = createServer(async (request, response) => {
    posted.push(JSON.parse(await text(request)) as Record<string, unknown>);
    const answer = answers.shift() ?? 204;
    if (answer !== 'never') response.writeHead(answer, answer === 302 ? { location: '/' } : {}).end();
  });
  await once(webhook.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${String((webhook.address() as AddressInfo).port)}/${secret}`;
});
afterEach(() => {
  webhook.closeAllConnections();
  webhook.close();
});

/** What workers share: the store's failed calls, and locks. */
class SharedStore implements Pick<WorkerStore, 'listFailedCalls' | 'applyShared'> {
  failed: string[] = [];
  breaks = false;
  readonly #locks = new Map<string, LockState | undefined>();

  async listFailedCalls(): Promise<string[]> {
    if (this.breaks) throw new Error('the store is away');
    return this.failed;
  }

  applyShared = (async (name: string, event: SharedEvent) => {
    if (this.breaks || event.kind !== 'lock') throw new Error('the store is away');
    const { state, verdict } = lockTransition(this.#locks.get(name), event, 1_000);
    this.#locks.set(name, state);
    return verdict;
  }) as WorkerStore['applyShared'];
}

function worker(store = new SharedStore(), webhookUrl: string | undefined = url) {
  const lines: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  const line =
    (level: string) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      void lines.push({ level, message, fields });
  const log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
  const alerts = new Alerts({ log, webhook: webhookUrl, store, timeoutMs: answers.includes('never') ? 100 : 5_000 });
  const end = (failure: FailureClass, key = 'k1', tool = 'refund'): void => {
    const { outcome } = callOf({ callId: 'c1.0', tool, failure });
    const ended: Outcome = { ...(outcome as Outcome), key };
    if ('failure' in ended && failure === 'permission_denied') ended.status = 'aborted';
    alerts.add(ended, 'r1', outcomeRecord(ended, { runKey: 'r1', params: { card: secret } }, redactor));
  };
  return { end, lines };
}

it('logs and posts an aborted call, with its context and without secrets', async () => {
  const { end, lines } = worker();
  end('permission_denied');
  await vi.waitFor(() => expect(posted).toHaveLength(1));
  expect(posted[0]).toMatchObject({ rule: 'aborted', tool: 'refund', run_key: 'r1', alert: true });
  expect(posted[0]?.['text']).toBe('perdure alert: aborted (refund)');
  expect(JSON.stringify(posted)).not.toContain(secret);
  expect(lines).toMatchObject([{ level: 'error', message: 'alert: refund ended as permission_denied' }]);
});

it.each([[503], [404], [302], ['never']] as const)('posts once more where the webhook answers %s', async (answer) => {
  answers = [answer];
  const { end, lines } = worker();
  end('permission_denied');
  await vi.waitFor(() => expect(posted).toHaveLength(2));
  expect(lines.filter(({ level }) => level === 'warn')).toEqual([]);
});

it.each([
  [[500, 500], 'Error'],
  [['never', 'never'], 'TimeoutError'],
] as const)('gives up after %s, and says so without the address', async (both, reason) => {
  answers = [...both];
  const { end, lines } = worker();
  end('permission_denied');
  await vi.waitFor(() => expect(lines.at(-1)).toMatchObject({ level: 'warn', fields: { reason } }));
  expect(lines.at(-1)?.message).toBe('an alert could not be sent to the webhook');
  expect(posted).toHaveLength(2);
  expect(JSON.stringify(lines)).not.toContain(secret);
});

it('sends at most twenty at a time, and says which it left out', async () => {
  answers = Array.from({ length: 40 }, () => 'never' as const);
  const { end, lines } = worker();
  for (let n = 0; n < 21; n += 1) end('permission_denied', `k${String(n)}`, `tool${String(n)}`);
  expect(lines.filter(({ message }) => message.startsWith('an alert was not sent'))).toMatchObject([
    { fields: { rule: 'aborted' } },
  ]);
  await vi.waitFor(() => expect(lines.filter(({ message }) => message.includes('could not be sent'))).toHaveLength(20));
});

it('logs without a webhook, and posts nothing', () => {
  const { end, lines } = worker(new SharedStore(), '');
  end('permission_denied');
  expect(lines[0]?.message).toBe('alert: refund ended as permission_denied');
});

it('counts the failures of a run over all workers, and one of them tells', async () => {
  const store = new SharedStore();
  const [first, second] = [worker(store), worker(store)];
  const end = (by: typeof first, key: string): void => {
    store.failed.push(key);
    by.end('not_found', key);
  };
  for (const key of ['k1', 'k2', 'k3']) end(first, key);
  for (const key of ['k4', 'k5']) end(second, key);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(posted).toEqual([]);
  end(second, 'k6');
  end(first, 'k7');
  end(second, 'k8');
  await vi.waitFor(() => expect(posted).toHaveLength(1));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(posted).toMatchObject([{ rule: 'run_failures', run_key: 'r1' }]);
});

it('counts those of its own worker where the store is away', async () => {
  const store = new SharedStore();
  store.breaks = true;
  const { end, lines } = worker(store);
  for (let n = 1; n <= 6; n += 1) end('not_found', `k${String(n)}`);
  await vi.waitFor(() => expect(posted).toMatchObject([{ rule: 'run_failures' }]));
  expect(lines[0]?.message).toContain('could not be counted');
});
