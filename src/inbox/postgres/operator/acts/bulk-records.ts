import type { StoredBulk } from '../../../operator/acts.ts';
import { breakdownOf, bulkOf, filterOf, type BulkRow } from '../../../operator/bulk-record.ts';
import type { BulkEngine, OldBulks } from '../../../rules/bulks.ts';
import { asked } from '../../../rules/steps.ts';
import type { Session } from '../../driver/session.ts';
import { fromText, textOrNull, toText } from '../../driver/values.ts';
import type { Scene } from '../../engine/scene.ts';

type Part = Pick<
  BulkEngine,
  | 'filling'
  | 'saveSnapshot'
  | 'seal'
  | 'bulk'
  | 'startBulk'
  | 'saveWorked'
  | 'noteHeartbeat'
  | 'endBulk'
  | keyof OldBulks
>;

/** Of the server: machines need not agree with it, nor with each other. */
const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** By their names: a newer version may add others, and Postgres refuses what is prepared to say `*` after that. */
export const COLUMNS = `id, act, state, force, filter, actor, reason, created_ms, started_ms, ended_ms, total, breakdown,
  worked, counts, audit, heartbeat_ms, stopped, ${NOW} - heartbeat_ms AS silent_ms`;

/** One whose snapshot is complete. */
export const COMPLETE = `id = $1 AND state <> 'filling'`;

/**
 * Bulks in a transaction that changes them. Whoever asks for one holds it until the end: of two machines that advance it one
 * waits for the other's batch, so that each event is worked once.
 */
export function bulkRecords({ session, t }: Pick<Scene, 'session' | 't'>): Part {
  const run = (text: string, values: readonly unknown[]) => asked(session.run(text, values).then(() => {}));
  return {
    filling(id) {
      // One that was created at 0 was given up.
      const text = `SELECT ${COLUMNS} FROM ${t.bulks} WHERE id = $1 AND state = 'filling' AND created_ms > 0 FOR UPDATE`;
      return asked(
        session.row<BulkRow>(text, [id]).then((row) => {
          if (row === undefined) return null;
          return {
            id,
            act: row.act,
            force: row.force === true,
            filter: filterOf(row.filter),
            breakdown: breakdownOf(row),
            createdMs: row.created_ms,
          };
        }),
      );
    },
    saveSnapshot: (id, added, breakdown) =>
      run(`UPDATE ${t.bulks} SET total = total + $2, breakdown = $3 WHERE id = $1`, [
        id,
        added,
        JSON.stringify(breakdown),
      ]),
    seal: (id) => run(`UPDATE ${t.bulks} SET state = 'previewed' WHERE id = $1`, [id]),
    bulk: (id) => asked(findBulk(session, `SELECT ${COLUMNS} FROM ${t.bulks} WHERE ${COMPLETE} FOR UPDATE`, id)),
    startBulk: (id, audit, { actor, reason, now }) =>
      run(
        `UPDATE ${t.bulks} SET state = 'running', started_ms = $2, audit = $3, actor = $4, reason = $5 WHERE id = $1`,
        [id, now, audit, toText(actor), textOrNull(reason)],
      ),
    saveWorked: (id, worked, counts) =>
      run(`UPDATE ${t.bulks} SET worked = $2, counts = $3 WHERE id = $1`, [id, worked, JSON.stringify(counts)]),
    noteHeartbeat: (id, stops) =>
      run(`UPDATE ${t.bulks} SET heartbeat_ms = ${NOW}, stopped = $2 WHERE id = $1`, [id, stops]),
    endBulk: (id, state, now) => run(`UPDATE ${t.bulks} SET state = $2, ended_ms = $3 WHERE id = $1`, [id, state, now]),

    giveUpFilling: (since) =>
      // Created at 0: its preview, should it still be at it, is told that it took too long.
      run(`UPDATE ${t.bulks} SET created_ms = 0 WHERE state = 'filling' AND created_ms BETWEEN 1 AND $1`, [since]),
    cancelPreviewed: (before, now) =>
      run(`UPDATE ${t.bulks} SET state = 'cancelled', ended_ms = $2 WHERE state = 'previewed' AND created_ms < $1`, [
        before,
        now,
      ]),
    forgetSnapshots: (endedBefore, limit) =>
      asked(
        session.run(
          `DELETE FROM ${t.bulk_events} WHERE ctid = ANY(ARRAY(
             SELECT old.ctid FROM ${t.bulks} AS bulks CROSS JOIN LATERAL (
               SELECT ctid FROM ${t.bulk_events} AS events WHERE events.bulk = bulks.id LIMIT $2
             ) AS old
             WHERE bulks.state = 'filling' AND bulks.created_ms = 0
                OR bulks.state = 'cancelled' AND bulks.started_ms IS NULL
                OR bulks.state IN ('done', 'cancelled') AND bulks.ended_ms < $1
             LIMIT $2
           ))`,
          [endedBefore, limit],
        ),
      ),
  };
}

export async function findBulk(session: Session, text: string, id: number): Promise<StoredBulk | null> {
  const row = await session.row<BulkRow>(text, [id]);
  return row === undefined ? null : storedBulk(row);
}

export function storedBulk(row: BulkRow): StoredBulk {
  return bulkOf({ ...row, actor: fromText(row.actor), reason: row.reason === null ? null : fromText(row.reason) });
}
