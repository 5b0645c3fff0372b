import { DatabaseSync } from 'node:sqlite';

/** The kinds of thing that can happen in the shop. */
export type EffectKind = 'order_cancelled' | 'return_opened' | 'payment_refunded' | 'label_printed' | 'message_sent';

/** What happened to one subject (an order, for messages a customer), and how often. */
export interface EffectCount {
  kind: EffectKind;
  subject: string;
  /** How often it happened. */
  times: number;
  /** How often it was asked for. */
  requests: number;
}

/** Adds one effect to the journal; to be called in the transaction that makes it happen. Returns the row's id. */
export function recordEffect(
  db: DatabaseSync,
  effect: { kind: EffectKind; subject: string; idempotencyKey?: string | undefined },
): number {
  const { lastInsertRowid } = db
    .prepare('insert into effects (kind, subject, idempotency_key, at) values (?, ?, ?, ?)')
    .run(effect.kind, effect.subject, effect.idempotencyKey ?? null, new Date().toISOString());
  return Number(lastInsertRowid);
}

/** Notes that an effect which had happened already was asked for again. */
export function recordRepeat(db: DatabaseSync, effect: { kind: EffectKind; subject: string }): void {
  db.prepare('update effects set requests = requests + 1 where kind = ? and subject = ?').run(
    effect.kind,
    effect.subject,
  );
}

export function effectCounts(db: DatabaseSync): EffectCount[] {
  const rows = db
    .prepare(
      `select kind, subject, count(*) as times, sum(requests) as requests
       from effects group by kind, subject order by min(id)`,
    )
    .all();
  return rows.map((row) => ({
    kind: row['kind'] as EffectKind,
    subject: String(row['subject']),
    times: Number(row['times']),
    requests: Number(row['requests']),
  }));
}

/** Reads the journal of a shop's database file, whether or not its service runs. */
export function readEffectCounts(path: string): EffectCount[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return effectCounts(db);
  } finally {
    db.close();
  }
}
