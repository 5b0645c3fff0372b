import { expect, it } from 'vitest';
import { openShop } from './shop-client.js';

it('answers the first look-up 429 with a time to wait, then heals', async () => {
  const shop = await openShop({ rateLimitedLookups: 1 });
  const lookUp = () => shop.get('/customers?name=maya');
  const limited = await lookUp();
  expect(limited.status).toBe(429);
  expect(limited.headers.get('retry-after')).toBe('1');
  expect((await lookUp()).status).toBe(200);
});

it('answers the first order searches 503 with a page for people, then heals', async () => {
  const shop = await openShop({ unavailableSearches: 2 });
  const search = () => shop.get('/orders?customer_id=cus_301');
  const unavailable = await search();
  expect(unavailable.status).toBe(503);
  expect(unavailable.headers.get('content-type')).toBe('text/html');
  expect(unavailable.body).toContain('503 Service Temporarily Unavailable');
  expect((await search()).status).toBe(503);
  expect((await search()).status).toBe(200);
});

it('takes its time over order details, several at once', async () => {
  const shop = await openShop({ orderDetailsDelayMs: 400 });
  const startedAt = performance.now();
  await Promise.all([shop.get('/orders/1042'), shop.get('/orders/1038')]);
  const elapsedMs = performance.now() - startedAt;
  expect(elapsedMs).toBeGreaterThan(390);
  expect(elapsedMs).toBeLessThan(790);
});

it('prints the first label and breaks the connection before the answer', async () => {
  const shop = await openShop({ lostLabelAnswers: 1 });
  await shop.post('/orders/1038/returns', { reason: 'changed_mind' });
  await expect(shop.post('/returns/ret_1038/labels')).rejects.toThrow('fetch failed');
  expect((await shop.get('/returns/ret_1038/labels')).body).toMatchObject({ labels: [{ id: 1 }] });
  expect((await shop.post('/returns/ret_1038/labels')).status).toBe(200);
});

it('answers the first look-up of labels 503, then heals', async () => {
  const shop = await openShop({ unavailableLabelLookups: 1 });
  const lookUp = () => shop.get('/returns/ret_1038/labels');
  expect((await lookUp()).status).toBe(503);
  expect(await lookUp()).toMatchObject({ status: 200, body: { labels: [] } });
});
