import { DatabaseSync } from 'node:sqlite';

const schema = `
  create table customers (
    id text primary key,
    name text not null,
    email text not null unique
  ) strict;
  create table orders (
    id text primary key,
    customer_id text not null references customers,
    placed_on text not null,
    -- What the shop believes; the carrier's scan updates it hours late.
    status text not null check (status in ('processing', 'shipped', 'delivered', 'cancelled')),
    -- When the warehouse gave the parcel to the carrier: only asked for when something is to change.
    handed_over_on text
  ) strict;
  create table order_lines (
    order_id text not null references orders,
    item text not null,
    quantity integer not null,
    price_cents integer not null
  ) strict;
  create table payments (
    id text primary key,
    order_id text not null references orders,
    captured_cents integer not null,
    currency text not null
  ) strict;
  create table refunds (
    id integer primary key,
    payment_id text not null references payments,
    amount_cents integer not null check (amount_cents > 0),
    reason text not null
  ) strict;
  create table returns (
    id text primary key,
    order_id text not null unique references orders,
    reason text not null
  ) strict;
  -- Two labels for one return are possible: the printer is an old one.
  create table labels (
    id integer primary key,
    return_id text not null references returns,
    tracking_code text not null
  ) strict;
  create table messages (
    id integer primary key,
    customer_id text not null references customers,
    subject text not null,
    body text not null
  ) strict;
  -- One row for each thing that really happened, written in the transaction that made it happen.
  create table effects (
    id integer primary key,
    kind text not null,
    subject text not null,
    idempotency_key text,
    at text not null,
    -- How often it was asked for: a repeated request adds here, and not a row.
    requests integer not null default 1
  ) strict;
  create table answered_keys (
    idempotency_key text primary key,
    request text not null,
    answer text not null,
    effect_id integer not null references effects
  ) strict;
`;

/**
 * Opens the shop's database and fills a new one with its customers and orders. Dates are counted back from `today`.
 * Each commit is on the disk before it returns (`synchronous = full`), so that an answer is never ahead of its effect.
 */
export function openShopDatabase(path: string, today: Date): DatabaseSync {
  const db = new DatabaseSync(path);
  db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma busy_timeout = 5000');
  const isNew = db.prepare(`select 1 from sqlite_master where name = 'effects'`).get() === undefined;
  if (isNew) {
    inTransaction(db, () => {
      db.exec(schema);
      seed(db, today);
    });
  }
  return db;
}

/** Runs `work` in one write transaction; throws what it throws, with nothing written. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('begin immediate');
  try {
    const result = work();
    db.exec('commit');
    return result;
  } catch (error) {
    db.exec('rollback');
    throw error;
  }
}

interface SeededOrder {
  id: string;
  customer: string;
  daysAgo: number;
  status: 'processing' | 'delivered';
  /** Days since the warehouse gave it to the carrier. */
  handedOverDaysAgo?: number;
  lines: [item: string, quantity: number, priceCents: number][];
}

const customers = [
  ['cus_301', 'Maya Lindqvist', 'maya.lindqvist@example.com'],
  ['cus_302', 'Maya Lindner', 'm.lindner@example.com'],
  ['cus_303', 'Tom Berger', 'tom.berger@example.com'],
] as const;

const orders: SeededOrder[] = [
  {
    id: '1042',
    customer: 'cus_301',
    daysAgo: 2,
    status: 'processing',
    lines: [
      ['Wool blanket', 1, 5900],
      ['Beeswax candle', 2, 1500],
    ],
  },
  // On its way since yesterday, and the shop does not know it yet: cancelling it is refused.
  {
    id: '1038',
    customer: 'cus_301',
    daysAgo: 5,
    status: 'processing',
    handedOverDaysAgo: 1,
    lines: [['Desk lamp', 1, 6450]],
  },
  {
    id: '977',
    customer: 'cus_301',
    daysAgo: 210,
    status: 'delivered',
    handedOverDaysAgo: 207,
    lines: [['Tea pot', 1, 3200]],
  },
  { id: '1040', customer: 'cus_303', daysAgo: 3, status: 'processing', lines: [['Bread knife', 1, 4100]] },
];

function seed(db: DatabaseSync, today: Date): void {
  const addCustomer = db.prepare('insert into customers (id, name, email) values (?, ?, ?)');
  for (const customer of customers) addCustomer.run(...customer);
  const addOrder = db.prepare(
    'insert into orders (id, customer_id, placed_on, status, handed_over_on) values (?, ?, ?, ?, ?)',
  );
  const addLine = db.prepare('insert into order_lines (order_id, item, quantity, price_cents) values (?, ?, ?, ?)');
  const addPayment = db.prepare(
    `insert into payments (id, order_id, captured_cents, currency) values (?, ?, ?, 'EUR')`,
  );
  for (const order of orders) {
    const handedOverOn = order.handedOverDaysAgo === undefined ? null : daysBefore(today, order.handedOverDaysAgo);
    addOrder.run(order.id, order.customer, daysBefore(today, order.daysAgo), order.status, handedOverOn);
    for (const line of order.lines) addLine.run(order.id, ...line);
    const total = order.lines.reduce((sum, [, quantity, priceCents]) => sum + quantity * priceCents, 0);
    addPayment.run(`pay_${order.id}`, order.id, total);
  }
}

/** The day that many days before, as `2026-03-31`. */
export function daysBefore(day: Date, days: number): string {
  return new Date(day.getTime() - days * 86_400_000).toISOString().slice(0, 10);
}
