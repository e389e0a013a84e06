import type { Gauge, Gauges } from '../../../operations/counts.ts';
import type { SqliteDatabase } from '../../database.ts';
import { statement } from '../access.ts';

/** Counting stops here: beyond it the figure says enough, and a backlog of a million must not make it slow. */
const COUNTED = 10_000;
/** How many of the first in each order are looked at for the oldest one. */
const FIRST = 100;
/** Types are the sender's text. */
const TYPES = 200;

interface GaugesRow {
  readonly aside: number;
  readonly ready: number;
  readonly retrying: number;
  readonly processing: number;
  readonly dead: number;
  readonly ignored: number;
  readonly endpoint: string | null;
  readonly id: string | null;
  readonly received_ms: number | null;
}

// Each condition repeats that of a partial index, so that SQLite uses it.
const ASIDE = 'parked > 0';
const READY = "state = 'pending' AND parked = 0";
const RETRYING = "state = 'pending' AND failures > 0";
const PUT_AWAY = "state IN ('dead', 'ignored')";

const counted = (where: string): string =>
  `(SELECT count(*) FROM (SELECT 1 FROM hookbox_events WHERE ${where} LIMIT ${COUNTED + 1}))`;
const first = (where: string, order = 'seq'): string =>
  `SELECT seq FROM hookbox_events WHERE ${where} ORDER BY ${order} LIMIT ${FIRST}`;

/**
 * One statement, so that all figures are of one moment. No order is exactly that of receiving: clocks step, and what was
 * rerun, interrupted or has failed is due later than it was received. So the first hundred of each order are looked at.
 */
const GAUGES = `
  WITH RECURSIVE types (type) AS (
    SELECT min(type) FROM hookbox_events WHERE ${READY}
    UNION ALL
    SELECT (SELECT min(type) FROM hookbox_events WHERE ${READY} AND type > types.type)
    FROM types WHERE types.type IS NOT NULL LIMIT ${TYPES}
  ),
  candidates (seq) AS (
    SELECT seq FROM (${first(`${ASIDE} AND parked = 2`)})
    UNION ALL SELECT seq FROM (${first(`${ASIDE} AND parked = 1`)})
    UNION ALL SELECT seq FROM (${first(RETRYING)})
    UNION ALL
    SELECT ready.seq FROM types CROSS JOIN hookbox_events AS ready
    WHERE ready.seq IN (${first(`${READY} AND type = types.type`, 'due_ms, seq')})
  ),
  oldest AS (
    SELECT endpoint, id, received_ms FROM hookbox_events
    WHERE seq IN (SELECT seq FROM candidates) ORDER BY received_ms, seq LIMIT 1
  )
  SELECT
    ${counted(ASIDE)} AS aside,
    ${counted(READY)} AS ready,
    ${counted(RETRYING)} AS retrying,
    ${counted("state = 'processing'")} AS processing,
    ${counted(`${PUT_AWAY} AND state = 'dead'`)} AS dead,
    ${counted(`${PUT_AWAY} AND state = 'ignored'`)} AS ignored,
    endpoint, id, received_ms
  FROM (SELECT 1) LEFT JOIN oldest
`;

export function gauges(database: SqliteDatabase): Gauges {
  const row = statement(database, GAUGES).get() as GaugesRow; // the columns of the statement
  const { endpoint, id, received_ms: receivedMs } = row;
  return {
    pending: gauge(row.aside + row.ready),
    retrying: gauge(row.retrying),
    processing: gauge(row.processing),
    dead: gauge(row.dead),
    ignored: gauge(row.ignored),
    oldestPending:
      endpoint === null || id === null || receivedMs === null
        ? null
        : { endpoint, id, receivedAt: new Date(receivedMs) },
  };
}

function gauge(count: number): Gauge {
  return { count: Math.min(count, COUNTED), more: count > COUNTED };
}
