import type { DatabaseSync } from 'node:sqlite';
import { badFields, notFound, ok, refused, type Answer, type FieldError, type ShopRequest } from './answer.ts';
import { onceByKey } from './answered-keys.ts';
import { recordEffect } from './journal.ts';
import { findOrder } from './orders.ts';

interface PaymentRow {
  id: string;
  order_id: string;
  captured_cents: number;
  currency: string;
}

/** `POST /payments/:id/refunds {amount_cents, reason}` with an `Idempotency-Key`: one key is one refund. */
export function refundPayment(db: DatabaseSync, request: ShopRequest): Answer {
  const { params, body } = request;
  const errors: FieldError[] = [];
  const amountCents = body['amount_cents'];
  const reason = body['reason'];
  if (typeof amountCents !== 'number' || !Number.isInteger(amountCents) || amountCents < 1) {
    errors.push({ field: 'amount_cents', problem: 'must be a whole number of cents, 1 or more' });
  }
  if (typeof reason !== 'string' || reason.trim() === '') {
    errors.push({ field: 'reason', problem: 'must say why, in a few words' });
  }
  if (errors.length > 0) return badFields(errors);
  return onceByKey(db, request, () =>
    refund(db, { paymentId: params['id'] ?? '', amountCents: Number(amountCents), reason: String(reason) }, request),
  );
}

function refund(
  db: DatabaseSync,
  asked: { paymentId: string; amountCents: number; reason: string },
  { idempotencyKey }: ShopRequest,
): { answer: Answer; effectId?: number } {
  const payment = db.prepare('select * from payments where id = ?').get(asked.paymentId) as PaymentRow | undefined;
  const order = payment && findOrder(db, payment.order_id);
  if (!payment || !order) return { answer: notFound(`payment ${asked.paymentId}`) };

  const returned = db.prepare('select 1 from returns where order_id = ?').get(order.id) !== undefined;
  if (order.status !== 'cancelled' && !returned) {
    return {
      answer: refused('not_refundable', `Order ${order.id} is neither cancelled nor being returned.`),
    };
  }
  const refundedCents = Number(
    db.prepare('select coalesce(sum(amount_cents), 0) as cents from refunds where payment_id = ?').get(payment.id)?.[
      'cents'
    ],
  );
  const leftCents = payment.captured_cents - refundedCents;
  if (asked.amountCents > leftCents) {
    return {
      answer: refused(
        'exceeds_captured',
        `Payment ${payment.id} has ${leftCents} cents left to refund, not ${asked.amountCents}.`,
      ),
    };
  }
  const { lastInsertRowid } = db
    .prepare('insert into refunds (payment_id, amount_cents, reason) values (?, ?, ?)')
    .run(payment.id, asked.amountCents, asked.reason);
  const effectId = recordEffect(db, { kind: 'payment_refunded', subject: order.id, idempotencyKey });
  return {
    answer: ok({
      ok: true,
      refund: {
        id: `rf_${lastInsertRowid}`,
        payment_id: payment.id,
        order_id: order.id,
        amount_cents: asked.amountCents,
        currency: payment.currency,
      },
    }),
    effectId,
  };
}
