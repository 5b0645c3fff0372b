import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openTestBed, scriptedModel } from 'perdure/testing';
import script from '../script.ts';
import { openShop } from '../shop.ts';
import { shopTools } from '../tools.ts';

const folder = await mkdtemp(join(tmpdir(), 'shop-'));
after(() => rm(folder, { recursive: true, force: true }));

void test('refunds once although the first answer is lost', async () => {
  const shop = openShop(folder);
  await using bed = await openTestBed({
    model: scriptedModel({ turns: script }),
    tools: shopTools(shop),
    // The refund happens, and its answer never comes back.
    faults: ['refund_order:commit-then-no-answer@1'],
  });
  const { result } = await bed.run('Refund order 1042 and print a return label');
  assert.equal(result.answer, 'Order 1042 is refunded, and its return label is printed.');
  const { refunds, labels } = shop.journal();
  assert.deepEqual([refunds.length, labels.length], [1, 1]);
});
