import type { CallModelResult } from '../contract/activities.js';
import { lockCalls, writeOutcomes } from './postgres-calls.js';
import type { ContentOperations } from './postgres-content.js';
import type { PostgresDatabase } from './postgres-database.js';
import { NOW_MS, WITHOUT_DISK, type Transaction } from './postgres-transaction.js';
import { readAnswer, readStoredTurn, readTurn, refuseOvertaken, turnAnswer, type TurnRow } from './run-rows.js';
import { StoreError } from './store-error.js';
import type { AskingExecution, CommittedTurn, StoredTurn, TurnCommit, TurnKey } from './records.js';
import { findInterventions, lockRun, noRun, NOT_COLLECTED } from './postgres-find-run.js';

const thisTurn = 'run_key = $1 AND step = $2 AND head = $3 AND settings = $4 AND take = $5';
const nextStart = '(SELECT coalesce(max(started_order), 0) + 1 FROM turns WHERE run_key = $1)';
const nextCommit =
  '(SELECT coalesce(max(committed_order), 0) + 1 FROM turns WHERE run_key = $1 AND committed_order IS NOT NULL)';

/** Model turns: who answered a question first, and where that has brought the conversation. */
export function turnOperations(database: PostgresDatabase, content: ContentOperations) {
  const { name } = database;

  return {
    async getTurn(turn: TurnKey): Promise<StoredTurn> {
      const [row, interventions] = await database.transaction((tx) =>
        Promise.all([findTurn(tx, turn), findInterventions(tx, turn.runKey)]),
      );
      return readStoredTurn(row, interventions);
    },

    async countTurnStart(turn: TurnKey, by?: AskingExecution): Promise<number> {
      const execution = by?.runId ?? null;
      const counted = await database.transaction(async (tx) => {
        const [, , , [row]] = await tx.commit([
          tx.query(WITHOUT_DISK),
          lockRun(tx, turn.runKey),
          // `NULL <> …` is not true: a run that nobody ended stays as it is.
          tx.query(
            `UPDATE runs SET status = 'running', result = NULL, ended_by = NULL, updated_at_ms = ${NOW_MS}
             WHERE run_key = $1 AND ended_by <> $2 AND execution = $2`,
            [turn.runKey, execution],
          ),
          tx.query<{ starts: number }>(
            `INSERT INTO turns (run_key, step, head, settings, take, starts, started_order)
             SELECT run_key, $2::integer, $3::text, $4::text, $5::integer, 1, ${nextStart}
             FROM runs WHERE run_key = $1 AND ($6::text IS NULL OR execution = $6) AND ${NOT_COLLECTED}
             ON CONFLICT (run_key, step, head, settings, take) DO UPDATE
               SET starts = turns.starts + 1,
                 started_order = CASE WHEN turns.result IS NULL THEN excluded.started_order ELSE turns.started_order END
             RETURNING starts`,
            [...turnValues(turn), execution],
          ),
        ]);
        return row?.starts;
      });
      if (counted !== undefined) return counted;
      return await database.transaction(async (tx) => {
        const run = await lockRun(tx, turn.runKey);
        if (!run) throw await noRun(name, tx, turn.runKey);
        refuseOvertaken(name, run, by);
        // Taken over between the two: the next attempt finds it so.
        throw new StoreError('unavailable', `store ${name}: the run ${turn.runKey} changed hands; ask again`);
      });
    },

    /** Two round trips: one locks and reads all that the answer depends on, one writes and commits. */
    commitTurn(commit: TurnCommit, by?: AskingExecution): Promise<CommittedTurn> {
      const { turn, messages, answered } = commit;
      return database.transaction(async (tx) => {
        const [run, row, lastStarted, found, nowMs, parent] = await Promise.all([
          lockRun(tx, turn.runKey),
          findTurn(tx, turn),
          tx.query<{ last: number | null }>('SELECT max(started_order) AS last FROM turns WHERE run_key = $1', [
            turn.runKey,
          ]),
          lockCalls(tx, answered),
          tx.now(),
          // Told only after a missing run and an earlier answer.
          content.requireParent(tx, turn.head).catch((error: unknown) => ({ error })),
        ]);
        if (!run) throw await noRun(name, tx, turn.runKey);
        const winner = readAnswer(row);
        if (winner) return { answer: winner, isNew: false };
        refuseOvertaken(name, run, by);
        if (parent) throw parent.error;

        const nodes = content.nodesAfter(turn.head, messages);
        const { answer, movesHead } = turnAnswer(commit, {
          run,
          turn: row,
          lastStarted: lastStarted[0]?.last ?? null,
          head: nodes.at(-1)?.id ?? turn.head,
        });
        await tx.commit([
          ...content.writeNodes(tx, nodes),
          ...writeOutcomes(tx, answered, found, nowMs),
          tx.query(
            `INSERT INTO turns (run_key, step, head, settings, take, starts, started_order, committed_order, committed_at_ms,
               result)
             VALUES ($1, $2, $3, $4, $5, 0, ${nextStart}, ${nextCommit}, $6, $7)
             ON CONFLICT (run_key, step, head, settings, take) DO UPDATE
               SET result = excluded.result, committed_at_ms = excluded.committed_at_ms,
                 committed_order = excluded.committed_order`,
            [...turnValues(turn), nowMs, JSON.stringify(answer)],
          ),
          ...(movesHead
            ? [
                tx.query('UPDATE runs SET head = $2, updated_at_ms = $3 WHERE run_key = $1', [
                  turn.runKey,
                  answer.head,
                  nowMs,
                ]),
              ]
            : []),
        ]);
        return { answer, isNew: true };
      });
    },

    async listTurns(runKey: string, after = 0): Promise<{ turn: TurnKey; result: CallModelResult; atMs: number }[]> {
      const rows = await database.transaction((tx) =>
        tx.query<TurnRow>('SELECT * FROM turns WHERE run_key = $1 AND committed_order > $2 ORDER BY committed_order', [
          runKey,
          after,
        ]),
      );
      return rows.map(readTurn);
    },
  };
}

async function findTurn(tx: Transaction, turn: TurnKey): Promise<TurnRow | undefined> {
  return (await tx.query<TurnRow>(`SELECT * FROM turns WHERE ${thisTurn}`, turnValues(turn)))[0];
}

/** The parameters $1 to $5 of the statements about one turn. */
function turnValues({ runKey, step, head, settings, take }: TurnKey): unknown[] {
  return [runKey, step, head, settings, take];
}
