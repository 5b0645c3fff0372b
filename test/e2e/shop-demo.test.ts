import { expect, it } from 'vitest';
import { runShopDemo } from '../../examples/shop/demo/run-shop-demo.js';
import { troublesOf } from '../../examples/shop/demo/run-story.js';
import { verdictOn } from '../../examples/shop/demo/verdict.js';
import { temporaryFolder } from '../examples/shop/backend/shop-client.js';

it('does the whole task with every effect once, although its worker dies after a refund was committed', async () => {
  const lines: string[] = [];
  const result = await runShopDemo({ rootDir: temporaryFolder(), log: (line) => lines.push(line) });
  expect(verdictOn(result, { isScripted: true }), lines.join('\n')).toEqual({
    ok: true,
    sentences: ['No effect happened twice, although the worker was killed.'],
  });
  expect(result.answer).toContain('its tracking code is RL000001EU');
  // The two refunds ran side by side, so one or both were asked for again, under their keys.
  expect(result.effects.some(({ kind, requests }) => kind === 'payment_refunded' && requests === 2)).toBe(true);
  expect(new Set(troublesOf(result.steps).map(({ tool, what }) => `${tool}: ${what}`))).toEqual(
    new Set([
      'find_customer: rate_limit (HTTP 429)',
      'list_orders: external_service_unavailable (HTTP 503), 2 times',
      'cancel_order: business_rule_violation',
      'request_return: validation_error (HTTP 422)',
      'refund_payment: validation_error, before anything was sent',
      'refund_payment: lost worker',
      'print_return_label: network_error',
    ]),
  );
}, 90_000);

it('ends everything when it is told to stop', async () => {
  const stop = new AbortController();
  const lines: string[] = [];
  const demo = runShopDemo({
    rootDir: temporaryFolder(),
    signal: stop.signal,
    log(line) {
      lines.push(line);
      if (line.startsWith('worker ')) stop.abort(new Error('stopped'));
    },
  });
  await expect(demo).rejects.toThrow('stopped');
  const pids = lines.flatMap((line) => /^worker (\d+) started$/.exec(line)?.[1] ?? []).map(Number);
  expect(pids).toHaveLength(1);
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  const shop = lines.flatMap((line) => /^shop (.*)$/.exec(line)?.[1] ?? [])[0];
  await expect(fetch(`${shop}/admin/effects`)).rejects.toThrow('fetch failed');
}, 60_000);
