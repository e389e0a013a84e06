import type { Gauges, WaitingEvent } from '../../../operator/counts.ts';
import { FIRST, gaugeOf, MOST_COUNTED, TOLD } from '../../../rules/gauges.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { PUT_AWAY, READY, READY_ENDPOINTS } from '../../sql/queue-statements.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { DEAD_WITH_BODIES } from '../search/dead-prints.ts';

interface GaugesRow {
  readonly aside: number;
  readonly ready: number;
  readonly retrying: number;
  readonly processing: number;
  readonly dead: number;
  readonly ignored: number;
  readonly discarded: number;
  readonly endpoint: string | null;
  readonly id: string | null;
  readonly received_ms: number | null;
  readonly since_ms: number | null;
}

// Each condition repeats that of a partial index, so that SQLite uses it.
const ASIDE = 'parked > 0';
const RETRYING = "state = 'pending' AND failures > 0";

/** Since when an event is pending: a rerun begins anew, until it fails. */
const SINCE = "CASE WHEN trigger = 'manual' AND failures = 0 THEN due_ms ELSE received_ms END";

const countedOf = (events: string): string => `(SELECT count(*) FROM (SELECT 1 FROM ${events} LIMIT ${MOST_COUNTED}))`;
const counted = (where: string): string => countedOf(`hookbox_events WHERE ${where}`);
const first = (where: string, order = 'seq'): string =>
  `SELECT seq FROM hookbox_events WHERE ${where} ORDER BY ${order} LIMIT ${FIRST}`;

/**
 * One statement, so that all figures are of one moment. No order is exactly that of receiving: clocks step, and what was
 * rerun, interrupted or has failed is due later than it was received. So the first hundred of each order are looked at.
 * The row is repeated for each of the oldest.
 */
const GAUGES = `
  WITH RECURSIVE ${READY_ENDPOINTS},
  candidates (seq) AS (
    SELECT seq FROM (${first(`${ASIDE} AND parked = 2`)})
    UNION ALL SELECT seq FROM (${first(`${ASIDE} AND parked = 1`)})
    UNION ALL SELECT seq FROM (${first(RETRYING)})
    UNION ALL
    SELECT ready.seq FROM endpoints CROSS JOIN hookbox_events AS ready
    WHERE ready.seq IN (${first(`${READY} AND endpoint = endpoints.value`, 'due_ms, seq')})
  ),
  oldest AS (
    SELECT endpoint, id, seq, received_ms, min(${SINCE}) AS since_ms FROM hookbox_events
    WHERE seq IN (SELECT seq FROM candidates)
    GROUP BY endpoint, coalesce(entity, seq) ORDER BY since_ms, seq LIMIT ${TOLD}
  )
  SELECT
    ${counted(ASIDE)} AS aside,
    ${counted(READY)} AS ready,
    ${counted(RETRYING)} AS retrying,
    ${counted("lease_until_ms IS NOT NULL AND state = 'processing'")} AS processing,
    ${countedOf(DEAD_WITH_BODIES)} AS dead,
    ${counted(`${PUT_AWAY} AND state = 'ignored'`)} AS ignored,
    ${counted(`${PUT_AWAY} AND state = 'discarded'`)} AS discarded,
    endpoint, id, received_ms, since_ms
  FROM (SELECT 1) LEFT JOIN oldest ORDER BY since_ms, seq
`;

export function gauges(database: SqliteDatabase): Gauges {
  const rows = statement(database, GAUGES).all() as [GaugesRow, ...GaugesRow[]]; // the columns of the statement
  const [row] = rows;
  const oldest = rows.flatMap(waitingEvent);
  return {
    pending: gaugeOf(row.aside + row.ready),
    retrying: gaugeOf(row.retrying),
    processing: gaugeOf(row.processing),
    dead: gaugeOf(row.dead),
    ignored: gaugeOf(row.ignored),
    discarded: gaugeOf(row.discarded),
    oldestPending: oldest[0] ?? null,
    oldest,
  };
}

function waitingEvent({
  endpoint,
  id,
  received_ms: receivedMs,
  since_ms: sinceMs,
}: GaugesRow): readonly WaitingEvent[] {
  if (endpoint === null || id === null || receivedMs === null || sinceMs === null) return [];
  return [{ endpoint, id, receivedAt: new Date(receivedMs), since: new Date(sinceMs) }];
}
