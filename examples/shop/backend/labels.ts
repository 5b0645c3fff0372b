import type { DatabaseSync } from 'node:sqlite';
import { notFound, ok, type Answer, type ShopRequest } from './answer.ts';
import { inTransaction } from './database.ts';
import { recordEffect } from './journal.ts';

/** `POST /returns/:id/labels`: prints one. The printer knows no idempotency keys: asked twice, it prints two. */
export function printLabel(db: DatabaseSync, { params }: ShopRequest): Answer {
  return inTransaction(db, () => {
    const returned = db.prepare('select id, order_id from returns where id = ?').get(params['id'] ?? '');
    if (!returned) return notFound(`return ${params['id']}`);
    const count = db.prepare('select count(*) as labels from labels').get();
    const trackingCode = `RL${String(Number(count?.['labels']) + 1).padStart(6, '0')}EU`;
    const { lastInsertRowid } = db
      .prepare('insert into labels (return_id, tracking_code) values (?, ?)')
      .run(String(returned['id']), trackingCode);
    recordEffect(db, { kind: 'label_printed', subject: String(returned['order_id']) });
    return ok({
      ok: true,
      label: { id: Number(lastInsertRowid), return_id: returned['id'], tracking_code: trackingCode },
    });
  });
}

/** `GET /returns/:id/labels`: the labels printed for a return, the oldest first. */
export function listLabels(db: DatabaseSync, { params }: ShopRequest): Answer {
  const labels = db
    .prepare('select id, return_id, tracking_code from labels where return_id = ? order by id')
    .all(params['id'] ?? '');
  return ok({ labels });
}
