import { describe, expect, it } from 'vitest';
import { openShop } from './shop-client.js';

const refundOf1042 = { amount_cents: 8900, reason: 'order cancelled' };

describe('effects', () => {
  it('refunds once under one key, however many requests come at the same time', async () => {
    const shop = await openShop();
    await shop.post('/orders/1042/cancel');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => shop.post('/payments/pay_1042/refunds', refundOf1042, { key: 'k1:a' })),
    );
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body])))).toEqual(
      new Set([
        JSON.stringify([
          200,
          {
            ok: true,
            refund: { id: 'rf_1', payment_id: 'pay_1042', order_id: '1042', amount_cents: 8900, currency: 'EUR' },
          },
        ]),
      ]),
    );
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')).toHaveLength(19);
    expect(shop.effects()).toEqual([
      { kind: 'order_cancelled', subject: '1042', times: 1, requests: 1 },
      { kind: 'payment_refunded', subject: '1042', times: 1, requests: 20 },
    ]);
  });

  it('refunds twice under two keys, as far as there is money', async () => {
    const shop = await openShop();
    await shop.post('/orders/1042/cancel');
    const part = { amount_cents: 5900, reason: 'blanket' };
    expect(await shop.post('/payments/pay_1042/refunds', part, { key: 'a' })).toMatchObject({ body: { ok: true } });
    expect((await shop.post('/payments/pay_1042/refunds', part, { key: 'b' })).body).toEqual({
      ok: false,
      code: 'exceeds_captured',
      message: 'Payment pay_1042 has 3000 cents left to refund, not 5900.',
    });
    await shop.post('/payments/pay_1042/refunds', { ...part, amount_cents: 3000 }, { key: 'c' });
    expect(shop.effects().at(-1)).toEqual({ kind: 'payment_refunded', subject: '1042', times: 2, requests: 2 });
  });

  it('answers 409 to a key that was used with another request', async () => {
    const shop = await openShop();
    await shop.post('/orders/1042/cancel');
    await shop.post('/payments/pay_1042/refunds', refundOf1042, { key: 'a' });
    const other = await shop.post('/payments/pay_1042/refunds', { ...refundOf1042, amount_cents: 1 }, { key: 'a' });
    expect(other).toMatchObject({ status: 409, body: { error: { code: 'idempotency_key_reused' } } });
    expect(shop.effects().at(-1)).toEqual({ kind: 'payment_refunded', subject: '1042', times: 1, requests: 1 });
  });

  it('does not keep a refusal under its key', async () => {
    const shop = await openShop();
    const refund = () => shop.post('/payments/pay_1042/refunds', refundOf1042, { key: 'a' });
    expect(await refund()).toMatchObject({ status: 200, body: { ok: false, code: 'not_refundable' } });
    await shop.post('/orders/1042/cancel');
    expect(await refund()).toMatchObject({ status: 200, body: { ok: true } });
  });

  it('asks for a key where money moves', async () => {
    const shop = await openShop();
    expect(await shop.post('/payments/pay_1042/refunds', refundOf1042)).toMatchObject({
      status: 400,
      body: { error: { code: 'idempotency_key_missing' } },
    });
  });

  it('prints a second label when it is asked twice, whatever key came with it', async () => {
    const shop = await openShop();
    await shop.post('/orders/1038/returns', { reason: 'changed_mind' });
    await shop.post('/returns/ret_1038/labels', {}, { key: 'a' });
    await shop.post('/returns/ret_1038/labels', {}, { key: 'a' });
    expect((await shop.get('/returns/ret_1038/labels')).body).toEqual({
      labels: [
        { id: 1, return_id: 'ret_1038', tracking_code: 'RL000001EU' },
        { id: 2, return_id: 'ret_1038', tracking_code: 'RL000002EU' },
      ],
    });
    expect(shop.effects().at(-1)).toEqual({ kind: 'label_printed', subject: '1038', times: 2, requests: 2 });
  });

  it('cancels and opens a return once, and counts how often it was asked', async () => {
    const shop = await openShop();
    const reason = { reason: 'changed_mind' };
    await Promise.all([1, 2, 3].map(() => shop.post('/orders/1042/cancel')));
    await Promise.all([1, 2].map(() => shop.post('/orders/1038/returns', reason)));
    expect(shop.effects()).toEqual([
      { kind: 'order_cancelled', subject: '1042', times: 1, requests: 3 },
      { kind: 'return_opened', subject: '1038', times: 1, requests: 2 },
    ]);
  });

  it('sends one message under one key', async () => {
    const shop = await openShop();
    const message = { subject: 'Your orders', body: 'All done.' };
    const send = () => shop.post('/customers/cus_301/messages', message, { key: 'm' });
    expect((await send()).body).toEqual((await send()).body);
    expect(shop.effects()).toEqual([{ kind: 'message_sent', subject: 'cus_301', times: 1, requests: 2 }]);
  });
});

describe('answers', () => {
  it('finds customers by a whole e-mail address or a part of the name', async () => {
    const shop = await openShop();
    const maya = { id: 'cus_301', name: 'Maya Lindqvist', email: 'maya.lindqvist@example.com' };
    expect((await shop.get('/customers?email=Maya.Lindqvist@example.com')).body).toEqual({ customers: [maya] });
    expect((await shop.get('/customers?name=maya')).body).toMatchObject({ customers: [maya, { id: 'cus_302' }] });
    expect((await shop.get('/customers?email=maya')).body).toEqual({ customers: [] });
  });

  it('lists recent orders with their totals, the newest first', async () => {
    const shop = await openShop();
    expect((await shop.get('/orders?customer_id=cus_301&days=60')).body).toMatchObject({
      orders: [
        { id: '1042', status: 'processing', total_cents: 8900 },
        { id: '1038', status: 'processing', total_cents: 6450 },
      ],
    });
  });

  it('refuses to cancel what the carrier has, in a 200, and knows it from then on', async () => {
    const shop = await openShop();
    const refused = await shop.post('/orders/1038/cancel');
    expect(refused).toMatchObject({ status: 200, body: { ok: false, code: 'already_shipped' } });
    expect((refused.body as { message: string }).message).toMatch(
      /^Order 1038 was handed to the carrier on \d{4}-\d\d-\d\d and cannot be cancelled any more\. The customer can return it\.$/,
    );
    expect((await shop.get('/orders/1038')).body).toMatchObject({ order: { status: 'shipped' } });
    expect(shop.effects()).toEqual([]);
  });

  it('refuses a return of what is still in the warehouse and of what was sent long ago', async () => {
    const shop = await openShop();
    const reason = { reason: 'damaged' };
    expect((await shop.post('/orders/1042/returns', reason)).body).toMatchObject({ ok: false, code: 'not_shipped' });
    expect((await shop.post('/orders/977/returns', reason)).body).toMatchObject({
      ok: false,
      code: 'return_window_closed',
    });
  });

  it('names every bad field in a 422', async () => {
    const shop = await openShop();
    expect(await shop.post('/payments/pay_1042/refunds', { amount_cents: '89.00' }, { key: 'a' })).toMatchObject({
      status: 422,
      body: {
        error: {
          code: 'invalid_fields',
          errors: [
            { field: 'amount_cents', problem: 'must be a whole number of cents, 1 or more' },
            { field: 'reason', problem: 'must say why, in a few words' },
          ],
        },
      },
    });
    expect(await shop.post('/orders/1038/returns', { reason: 'does not like it' })).toMatchObject({
      status: 422,
      body: { error: { errors: [{ field: 'reason' }] } },
    });
    expect(await shop.get('/orders?customer_id=cus_301&days=soon')).toMatchObject({ status: 422 });
  });

  it('answers 404 where there is nothing and 400 to a body that is no JSON object', async () => {
    const shop = await openShop();
    expect(await shop.get('/orders/1')).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found', message: 'There is no order 1.' } },
    });
    expect(await shop.post('/nowhere')).toMatchObject({ status: 404 });
    expect(await shop.post('/orders/1042/cancel', [])).toMatchObject({ status: 400 });
  });
});
