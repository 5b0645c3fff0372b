import type { DatabaseSync } from 'node:sqlite';
import { badFields, notFound, ok, type Answer, type ShopRequest } from './answer.ts';
import { onceByKey } from './answered-keys.ts';
import { recordEffect } from './journal.ts';

/** `POST /customers/:id/messages {subject, body}` with an `Idempotency-Key`: one key is one message. */
export function sendMessage(db: DatabaseSync, request: ShopRequest): Answer {
  const errors = (['subject', 'body'] as const)
    .filter((field) => typeof request.body[field] !== 'string' || request.body[field] === '')
    .map((field) => ({ field, problem: 'must be a text that is not empty' }));
  if (errors.length > 0) return badFields(errors);
  const { subject, body } = request.body;
  return onceByKey(db, request, () => {
    const customer = db.prepare('select id from customers where id = ?').get(request.params['id'] ?? '');
    if (!customer) return { answer: notFound(`customer ${request.params['id']}`) };
    const customerId = String(customer['id']);
    const { lastInsertRowid } = db
      .prepare('insert into messages (customer_id, subject, body) values (?, ?, ?)')
      .run(customerId, String(subject), String(body));
    const effectId = recordEffect(db, {
      kind: 'message_sent',
      subject: customerId,
      idempotencyKey: request.idempotencyKey,
    });
    return { answer: ok({ ok: true, message: { id: Number(lastInsertRowid), customer_id: customerId } }), effectId };
  });
}
