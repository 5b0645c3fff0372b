import { expect, it } from 'vitest';
import { openShop } from './shop-client.js';

const refund = { amount_cents: 8900, reason: 'order cancelled' };

async function shopWithHold(moment: string) {
  const shop = await openShop();
  await shop.post('/orders/1042/cancel');
  await shop.post('/admin/holds', { operation: 'refund_payment', moment });
  return shop;
}

function refundsIn(shop: Awaited<ReturnType<typeof openShop>>) {
  return shop.effects().filter(({ kind }) => kind === 'payment_refunded');
}

it('holds an answer whose effect is committed until it is let go', async () => {
  const shop = await shopWithHold('after_commit');
  const answer = shop.post('/payments/pay_1042/refunds', refund, { key: 'a' });
  expect((await shop.get('/admin/holds?wait_ms=5000')).body).toEqual({
    held: [{ operation: 'refund_payment', moment: 'after_commit', idempotencyKey: 'a' }],
  });
  expect(refundsIn(shop)).toEqual([{ kind: 'payment_refunded', subject: '1042', times: 1, requests: 1 }]);
  await shop.delete('/admin/holds');
  expect(await answer).toMatchObject({ status: 200, body: { ok: true } });
  expect((await shop.get('/admin/holds')).body).toEqual({ held: [] });
});

it('holds one request only: the same request again gets the answer of the held one', async () => {
  const shop = await shopWithHold('after_commit');
  const client = new AbortController();
  const lost = shop.post('/payments/pay_1042/refunds', refund, { key: 'a', signal: client.signal });
  await shop.get('/admin/holds?wait_ms=5000');
  client.abort();
  await expect(lost).rejects.toThrow('aborted');
  const again = await shop.post('/payments/pay_1042/refunds', refund, { key: 'a' });
  expect(again).toMatchObject({ status: 200, body: { ok: true, refund: { id: 'rf_1' } } });
  expect(refundsIn(shop)).toEqual([{ kind: 'payment_refunded', subject: '1042', times: 1, requests: 2 }]);
});

it('drops a request that was held before its effect when its client goes away', async () => {
  const shop = await shopWithHold('before_commit');
  const client = new AbortController();
  const lost = shop.post('/payments/pay_1042/refunds', refund, { key: 'a', signal: client.signal });
  expect((await shop.get('/admin/holds?wait_ms=5000')).body).toMatchObject({ held: [{ moment: 'before_commit' }] });
  client.abort();
  await expect(lost).rejects.toThrow('aborted');
  await expect.poll(async () => (await shop.get('/admin/holds')).body).toEqual({ held: [] });
  expect(refundsIn(shop)).toEqual([]);
});

it('reports that nothing was held in the time given, and refuses a hold that it does not know', async () => {
  const shop = await openShop();
  expect((await shop.get('/admin/holds?wait_ms=20')).body).toEqual({ held: [] });
  expect(await shop.post('/admin/holds', { operation: 'refund', moment: 'after_commit' })).toMatchObject({
    status: 400,
  });
});
