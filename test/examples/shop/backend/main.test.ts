import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { readEffectCounts } from '../../../../examples/shop/backend/journal.js';
import { shopAt, temporaryFolder } from './shop-client.js';

const main = join(import.meta.dirname, '../../../../examples/shop/backend/main.ts');

async function startProcess(dbPath: string, ...options: string[]) {
  const child = spawn(process.execPath, [main, '--db', dbPath, ...options], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  if (!child.stdout) throw new Error('the shop has no stdout');
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  const { port } = JSON.parse(line) as { port: number };
  return { child, shop: shopAt(`http://127.0.0.1:${port}`) };
}

it('keeps what it answered when it is killed, and honours the key afterwards', async () => {
  const dbPath = join(temporaryFolder(), 'shop.db');
  const first = await startProcess(dbPath, '--no-faults');
  await first.shop.post('/orders/1042/cancel');
  const refund = { amount_cents: 8900, reason: 'order cancelled' };
  const answer = await first.shop.post('/payments/pay_1042/refunds', refund, { key: 'a' });
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');

  const second = await startProcess(dbPath, '--no-faults');
  const again = await second.shop.post('/payments/pay_1042/refunds', refund, { key: 'a' });
  expect(again.body).toEqual(answer.body);
  expect(readEffectCounts(dbPath)).toEqual([
    { kind: 'order_cancelled', subject: '1042', times: 1, requests: 1 },
    { kind: 'payment_refunded', subject: '1042', times: 1, requests: 2 },
  ]);
});

it('ends by itself when the process that started it is gone', async () => {
  const { child } = await startProcess(join(temporaryFolder(), 'shop.db'));
  child.disconnect();
  const [code] = (await once(child, 'exit')) as [number];
  expect(code).toBe(0);
});

it('ends on SIGTERM', async () => {
  const { child } = await startProcess(join(temporaryFolder(), 'shop.db'));
  child.kill('SIGTERM');
  const [code] = (await once(child, 'exit')) as [number];
  expect(code).toBe(0);
});

it('misbehaves as it is told', async () => {
  const { shop } = await startProcess(join(temporaryFolder(), 'shop.db'), '--faults', '{"rateLimitedLookups": 2}');
  const lookUp = async () => (await shop.get('/customers?name=maya')).status;
  expect([await lookUp(), await lookUp(), await lookUp()]).toEqual([429, 429, 200]);
});
