import type { DatabaseSync } from 'node:sqlite';
import { badRequest, type Answer, type ShopRequest } from './answer.ts';
import { inTransaction } from './database.ts';

/**
 * Honours the request's `Idempotency-Key`, as draft-ietf-httpapi-idempotency-key-header describes it: the first request
 * with an effect stores its answer under the key in the same transaction, an equal request gets that answer again, and
 * another request with the same key is a 409. An answer without an effect (a refusal) is not kept.
 */
export function onceByKey(
  db: DatabaseSync,
  request: ShopRequest,
  work: () => { answer: Answer; effectId?: number },
): Answer {
  const key = request.idempotencyKey;
  if (key === undefined) {
    return badRequest('idempotency_key_missing', 'This request needs an Idempotency-Key header.');
  }
  const fingerprint = JSON.stringify([request.params, request.body]);
  return inTransaction(db, () => {
    const known = db.prepare('select * from answered_keys where idempotency_key = ?').get(key);
    if (known) {
      if (known['request'] !== fingerprint) return keyReused();
      db.prepare('update effects set requests = requests + 1 where id = ?').run(known['effect_id'] ?? null);
      const answer = JSON.parse(String(known['answer'])) as Answer;
      return { ...answer, headers: { ...answer.headers, 'idempotent-replayed': 'true' } };
    }
    const { answer, effectId } = work();
    if (effectId !== undefined) {
      db.prepare('insert into answered_keys (idempotency_key, request, answer, effect_id) values (?, ?, ?, ?)').run(
        key,
        fingerprint,
        JSON.stringify(answer),
        effectId,
      );
    }
    return answer;
  });
}

function keyReused(): Answer {
  const message = 'This Idempotency-Key was used before with another request.';
  return { status: 409, body: { error: { code: 'idempotency_key_reused', message } } };
}
