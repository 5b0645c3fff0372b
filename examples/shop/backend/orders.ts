import type { DatabaseSync } from 'node:sqlite';
import { badFields, notFound, ok, refused, type Answer, type ShopRequest } from './answer.ts';
import { daysBefore, inTransaction } from './database.ts';
import { recordEffect, recordRepeat } from './journal.ts';

const returnWindowDays = 30;
const returnReasons = ['changed_mind', 'damaged', 'wrong_item', 'arrived_late'];

export interface OrderRow {
  id: string;
  customer_id: string;
  placed_on: string;
  status: 'processing' | 'shipped' | 'delivered' | 'cancelled';
  handed_over_on: string | null;
}

export function findOrder(db: DatabaseSync, id: string): OrderRow | undefined {
  return db.prepare('select * from orders where id = ?').get(id) as OrderRow | undefined;
}

/** `GET /customers?email=` or `?name=`: e-mail addresses match whole, names in part. */
export function findCustomers(db: DatabaseSync, { query }: ShopRequest): Answer {
  const email = query.get('email');
  const name = query.get('name');
  if (!email && !name) return badFields([{ field: 'email', problem: 'give an email or a name to look for' }]);
  const customers = email
    ? db.prepare('select id, name, email from customers where email = ? collate nocase').all(email)
    : db.prepare('select id, name, email from customers where instr(lower(name), lower(?)) order by id').all(name);
  return ok({ customers });
}

/** `GET /orders?customer_id=&days=`: a customer's orders of the last days, the newest first. */
export function searchOrders(db: DatabaseSync, { query }: ShopRequest): Answer {
  const customerId = query.get('customer_id');
  const days = Number(query.get('days') ?? 90);
  if (!customerId) return badFields([{ field: 'customer_id', problem: 'is missing' }]);
  if (!Number.isInteger(days) || days < 1) {
    return badFields([{ field: 'days', problem: 'must be a whole number of days, 1 or more' }]);
  }
  const orders = db
    .prepare(
      `select orders.id, placed_on, status, sum(quantity * price_cents) as total_cents
       from orders join order_lines on order_id = orders.id
       where customer_id = ? and placed_on >= ? group by orders.id order by placed_on desc, orders.id`,
    )
    .all(customerId, daysBefore(new Date(), days));
  return ok({ orders });
}

/** `GET /orders/:id`: one order with its lines, payments and return. */
export function getOrder(db: DatabaseSync, { params }: ShopRequest): Answer {
  const order = findOrder(db, params['id'] ?? '');
  if (!order) return notFound(`order ${params['id']}`);
  const lines = db.prepare('select item, quantity, price_cents from order_lines where order_id = ?').all(order.id);
  const payments = db
    .prepare(
      `select id, captured_cents, currency,
         (select coalesce(sum(amount_cents), 0) from refunds where payment_id = payments.id) as refunded_cents
       from payments where order_id = ?`,
    )
    .all(order.id);
  const returned = db.prepare('select id, reason from returns where order_id = ?').get(order.id) ?? null;
  const { id, customer_id, placed_on, status } = order;
  return ok({ order: { id, customer_id, placed_on, status, lines, payments, return: returned } });
}

/** `POST /orders/:id/cancel`: may be repeated; a cancelled order stays cancelled. */
export function cancelOrder(db: DatabaseSync, { params }: ShopRequest): Answer {
  return inTransaction(db, () => {
    const order = findOrder(db, params['id'] ?? '');
    if (!order) return notFound(`order ${params['id']}`);
    const effect = { kind: 'order_cancelled', subject: order.id } as const;
    if (order.status === 'cancelled') {
      recordRepeat(db, effect);
      return ok({ ok: true, order: { id: order.id, status: 'cancelled' } });
    }
    if (order.handed_over_on !== null) {
      if (order.status === 'processing') setStatus(db, order.id, 'shipped');
      return refused(
        'already_shipped',
        `Order ${order.id} was handed to the carrier on ${order.handed_over_on} and cannot be cancelled any more. ` +
          'The customer can return it.',
      );
    }
    setStatus(db, order.id, 'cancelled');
    recordEffect(db, effect);
    return ok({ ok: true, order: { id: order.id, status: 'cancelled' } });
  });
}

/** `POST /orders/:id/returns {reason}`: an order has one return; asking again answers the same one. */
export function openReturn(db: DatabaseSync, { params, body }: ShopRequest): Answer {
  const reason = body['reason'];
  if (typeof reason !== 'string' || !returnReasons.includes(reason)) {
    return badFields([{ field: 'reason', problem: `must be one of ${returnReasons.join(', ')}` }]);
  }
  return inTransaction(db, () => {
    const order = findOrder(db, params['id'] ?? '');
    if (!order) return notFound(`order ${params['id']}`);
    const effect = { kind: 'return_opened', subject: order.id } as const;
    const existing = db.prepare('select id, reason from returns where order_id = ?').get(order.id);
    if (existing) {
      recordRepeat(db, effect);
      return ok({ ok: true, return: { id: existing['id'], order_id: order.id, reason: existing['reason'] } });
    }
    if (order.handed_over_on === null) {
      return refused('not_shipped', `Order ${order.id} has not left the warehouse. Cancel it instead.`);
    }
    if (order.handed_over_on < daysBefore(new Date(), returnWindowDays)) {
      return refused('return_window_closed', `Order ${order.id} was sent more than ${returnWindowDays} days ago.`);
    }
    const id = `ret_${order.id}`;
    db.prepare('insert into returns (id, order_id, reason) values (?, ?, ?)').run(id, order.id, reason);
    recordEffect(db, effect);
    return ok({ ok: true, return: { id, order_id: order.id, reason } });
  });
}

function setStatus(db: DatabaseSync, id: string, status: OrderRow['status']): void {
  db.prepare('update orders set status = ? where id = ?').run(status, id);
}
