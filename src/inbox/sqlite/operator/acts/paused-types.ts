import { atCommit, authorOf } from '../../../operator/author.ts';
import type { EndpointType, Pauses, StoredPause } from '../../../operator/pauses.ts';
import type { Author } from '../../../rules/audit-line.ts';
import { assertLane, pausedSeconds, planPause } from '../../../rules/pauses.ts';
import { COUNTED, waitingBehind } from '../../../rules/unhandled-report.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { pauseOf, type PauseRow } from '../../sql/pause-row.ts';
import { READY } from '../../sql/queue-statements.ts';
import type { Access } from '../access.ts';
import { addAuditLine } from '../audit/audit-line.ts';

/** Those that are set aside, or that no processor has looked at: the oldest, and one more than are counted. */
const oldest = (parked: 1 | 2): string => `
  SELECT * FROM (
    SELECT endpoint, type, parked FROM hookbox_events WHERE parked > 0 AND parked = ${parked} ORDER BY seq
    LIMIT ${COUNTED + 1}
  )`;

const PAUSES = `
  WITH aside AS (${oldest(1)} UNION ALL ${oldest(2)})
  SELECT p.*, (
    SELECT count(*) FROM aside WHERE endpoint = p.endpoint AND type = p.type
  ) + (
    SELECT count(*) FROM (
      SELECT 1 FROM hookbox_events AS e WHERE ${READY} AND e.endpoint = p.endpoint AND e.type = p.type LIMIT ${COUNTED + 1}
    )
  ) AS waiting, EXISTS (SELECT 1 FROM aside GROUP BY parked HAVING count(*) > ${COUNTED}) AS unseen
  FROM hookbox_pauses AS p WHERE p.endpoint >= '' ORDER BY p.endpoint, p.type`;

interface CountedRow extends PauseRow {
  readonly waiting: number;
  readonly unseen: number;
}

/** Pauses, on the tables of a file. */
export function pausedTypes(access: Access): Pauses {
  return {
    async pauseType(lane, by) {
      const author = authorOf(by);
      assertLane(lane);
      return access.write(({ database }, waitedMs) => beginPause(database, lane, atCommit(author, waitedMs)));
    },
    async resumeType(lane, by) {
      const author = authorOf(by);
      assertLane(lane);
      const ended = await access.write(({ database }, waitedMs) =>
        endPause(database, lane, atCommit(author, waitedMs)),
      );
      if (ended !== null) access.notify();
      return ended;
    },
    async pausedTypes() {
      const rows = statement(access.database(), PAUSES).all() as readonly CountedRow[];
      return rows.map((row) => ({ ...pauseOf(row), ...waitingBehind(row.waiting, row.unseen !== 0) }));
    },
  };
}

const OF_LANE = 'hookbox_pauses WHERE endpoint = ? AND type = ?';

function beginPause(database: SqliteDatabase, { endpoint, type }: EndpointType, author: Author) {
  const row = statement(database, `SELECT * FROM ${OF_LANE}`).get(endpoint, type);
  const plan = planPause(row === undefined ? null : pauseOf(row as PauseRow), { endpoint, type }, author);
  if (!plan.changed) return plan;
  addAuditLine(database, 'pause', author, { endpoint, type }, {});
  const text = 'INSERT INTO hookbox_pauses (endpoint, type, since_ms, actor, reason) VALUES (?, ?, ?, ?, ?)';
  statement(database, text).run(endpoint, type, author.now, author.actor, author.reason);
  return plan;
}

function endPause(database: SqliteDatabase, { endpoint, type }: EndpointType, author: Author): StoredPause | null {
  const row = statement(database, `DELETE FROM ${OF_LANE} RETURNING *`).get(endpoint, type);
  if (row === undefined) return null;
  const ended = pauseOf(row as PauseRow);
  addAuditLine(database, 'resume', author, { endpoint, type }, { seconds: pausedSeconds(ended, author.now) });
  return ended;
}
