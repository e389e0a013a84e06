import {
  coarsenInSteps,
  MOVED_AT_ONCE,
  type CountEngine,
  type CountMove,
  KIND,
  KINDS_KEPT,
} from '../../operator/counts.ts';
import { firstOf } from '../../operator/gauges.ts';
import { minuteInTables } from '../../rules/counted.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { ADD_COUNT, PUT_AWAY, READY, READY_ENDPOINTS, DEAD_WITH_BODIES } from '../sql/named-statements.ts';
import { statement } from '../sql/statement.ts';
import { type Access, clockAfter, sqlite } from './access.ts';

const ASIDE = 'hookbox_events WHERE parked > 0';
const RETRYING = "hookbox_events WHERE state = 'pending' AND failures > 0";

export function countEngine({ write }: Access): CountEngine {
  return {
    // In the minute of the event, however long the transaction waited for the file.
    addCounts: (_, rows) =>
      rows.map(({ at, what, detail, count }) => ({
        text: ADD_COUNT,
        values: [minuteInTables(clockAfter(0), at), what, detail, count],
      })),
    addRejections: (_, rejections) => [
      ...rejections.map(({ endpoint, reason, bytes, sha256, source, count, at }) => ({
        text: ADD_REJECTION,
        values: [endpoint, reason, bytes, sha256, source, count, at],
      })),
      { text: DROP_OLD_KINDS },
    ],
    rejectedKinds: 'hookbox_rejected',
    spansAtOnce: 1,
    // SQLite would not look up a list of spans in the primary key.
    inSpans: (rows, spans) => spans.map((values) => ({ from: `(${rows('$1', '$2')})`, values })),
    coarsen: (before) =>
      coarsenInSteps(before, (move, until) => write(({ database }) => moveSome(database, move, until))),
    gauges: {
      figures: {
        aside: ASIDE,
        ready: `hookbox_events WHERE ${READY}`,
        retrying: RETRYING,
        processing: "hookbox_events WHERE lease_until_ms IS NOT NULL AND state = 'processing'",
        dead: DEAD_WITH_BODIES,
        ignored: `hookbox_events WHERE ${PUT_AWAY} AND state = 'ignored'`,
        discarded: `hookbox_events WHERE ${PUT_AWAY} AND state = 'discarded'`,
      },
      readyEndpoints: READY_ENDPOINTS,
      candidates: [
        firstOf(`${ASIDE} AND parked = 2`, 'seq'),
        firstOf(`${ASIDE} AND parked = 1`, 'seq'),
        firstOf(RETRYING, 'seq'),
        `SELECT ready.seq FROM endpoints CROSS JOIN hookbox_events AS ready
       WHERE ready.seq IN (${firstOf(`hookbox_events WHERE ${READY} AND endpoint = endpoints.value`, 'due_ms, seq')})`,
      ],
      queueRow: '',
    },
    tryToWrite: () => write(({ database }) => tryToWrite(database)),
  };
}

const ADD_REJECTION = `
  INSERT INTO hookbox_rejected (${KIND}, count, first_ms, last_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
  ON CONFLICT (endpoint, reason, ifnull(sha256, ''), ifnull(source, ''), ifnull(bytes, -1)) DO UPDATE
  SET count = count + excluded.count, first_ms = min(first_ms, excluded.first_ms), last_ms = max(last_ms, excluded.last_ms)`;

const DROP_OLD_KINDS = `
  DELETE FROM hookbox_rejected WHERE seq IN (
    SELECT seq FROM hookbox_rejected ORDER BY last_ms, seq
    LIMIT max(0, (SELECT count(*) FROM hookbox_rejected) - ${KINDS_KEPT})
  )`;

function moveSome(database: SqliteDatabase, { from, which, at, to }: CountMove, before: number): number {
  const rows = `${sqlite.t[from]} WHERE ${which}`;
  const last = statement(
    database,
    `SELECT ${at} AS at, what, detail FROM ${rows} AND ${at} < ?
     ORDER BY ${at}, what, detail LIMIT 1 OFFSET ${MOVED_AT_ONCE - 1}`,
  ).get(before);
  // With a second bound, SQLite would read all older rows again.
  const some = `FROM ${rows} AND (${at}, what, detail) <= (:at, :what, :detail)`;
  const upTo = last ?? { at: before, what: '', detail: '' };
  for (const [per, time] of to) {
    statement(
      database,
      `INSERT INTO hookbox_count_sums (per, at_ms, what, detail, count)
       SELECT '${per}', ${time}, what, detail, sum(count) ${some} GROUP BY 2, 3, 4
       ON CONFLICT (per, at_ms, what, detail) DO UPDATE SET count = count + excluded.count`,
    ).run(upTo);
  }
  return statement(database, `DELETE ${some}`).run(upTo).changes;
}

/** After a savepoint, SQLite keeps old pages of more than 64 KiB in a temporary file. */
const BYTES = 96 * 1_024;
const TEXT = `hex(zeroblob(${BYTES / 2}))`;
const ROW = "minute_ms = 0 AND what = 'ping'";

/** A rollback would not reach the disk. The change also tests temporary data. */
function tryToWrite(database: SqliteDatabase): void {
  statement(
    database,
    `INSERT INTO hookbox_counts (minute_ms, what, detail, count) VALUES (0, 'ping', ${TEXT}, 0)`,
  ).run();
  database.exec('SAVEPOINT hookbox_ping');
  statement(database, `UPDATE hookbox_counts SET detail = replace(detail, '0', '1') WHERE ${ROW}`).run();
  database.exec('RELEASE hookbox_ping');
  statement(database, `DELETE FROM hookbox_counts WHERE ${ROW}`).run();
}
