import type { Gauges, WaitingEvent } from '../../../operator/counts.ts';
import { FIRST, gaugeOf, MOST_COUNTED, TOLD } from '../../../rules/gauges.ts';
import { distinctEndpoints } from '../../engine/handled-types.ts';
import { rowOf, type Tables } from '../../sql/tables.ts';
import type { Store } from '../../store.ts';
import { DEAD_WITH_BODIES } from '../search/dead-prints.ts';
import { onShelf } from '../search/sources.ts';

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

// Each condition repeats that of an index.
const READY = 'lease_until_ms IS NULL AND NOT parked';
const RETRYING = 'lease_until_ms IS NULL AND failures > 0';

/**
 * True of every row. Without it Postgres may take all that is ready from the index of types, where it finds everything that is
 * asked for, and sort that.
 */
const BY_DUE = `due_ms + 0 <= ${Number.MAX_SAFE_INTEGER} AND slot >= 0`;

/** Since when an event is pending: a rerun begins anew, until it fails. */
const SINCE = `CASE WHEN queue.trigger = 'manual' AND queue.failures = 0 THEN queue.due_ms ELSE events.received_ms END`;

/**
 * One statement, so that all figures are of one moment. No order is exactly that of receiving: clocks step, and what was
 * rerun, interrupted or has failed is due later than it was received. So the first hundred of each order are looked at.
 * The row is repeated for each of the oldest.
 */
function selectGauges(t: Tables): string {
  const counted = (table: string, where: string): string =>
    `(SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${where} LIMIT ${MOST_COUNTED}) AS counted)`;
  const first = (where: string, order: string): string =>
    `SELECT seq FROM ${t.queue} WHERE ${where} ORDER BY ${order} LIMIT ${FIRST}`;
  return `
    WITH candidates AS (
      (${first('parked', 'seq + 0')})
      UNION (${first(RETRYING, 'seq + 0')})
      UNION
      SELECT ready.seq FROM (${distinctEndpoints(t.queue, READY, 'endpoint, type')}) AS named
      CROSS JOIN LATERAL (${first(`${READY} AND endpoint = named.endpoint AND ${BY_DUE}`, 'due_ms + 0, seq')}) AS ready
    ), waiting AS (
      SELECT DISTINCT ON (queue.endpoint, queue.entity, CASE WHEN queue.entity IS NULL THEN queue.seq END)
        events.endpoint, events.id, events.seq, events.received_ms, ${SINCE} AS since_ms
      FROM candidates CROSS JOIN ${rowOf(t.queue, 'queue', 'found.seq = candidates.seq')}
        CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = candidates.seq')}
      ORDER BY queue.endpoint, queue.entity, CASE WHEN queue.entity IS NULL THEN queue.seq END, since_ms, queue.seq
    ), oldest AS (SELECT * FROM waiting ORDER BY since_ms, seq LIMIT ${TOLD})
    SELECT figures.*, oldest.endpoint, oldest.id, oldest.received_ms, oldest.since_ms FROM (
      SELECT
        ${counted(t.queue, 'parked')} AS aside,
        ${counted(t.queue, READY)} AS ready,
        ${counted(t.queue, RETRYING)} AS retrying,
        ${counted(t.queue, 'lease_until_ms IS NOT NULL AND NOT processed')} AS processing,
        ${counted(t.shelf, DEAD_WITH_BODIES)} AS dead,
        ${counted(t.shelf, "state = 'ignored'")} AS ignored,
        ${counted(t.shelf, onShelf('discarded'))} AS discarded
    ) AS figures LEFT JOIN oldest ON true ORDER BY oldest.since_ms, oldest.seq`;
}

export async function gauges({ database, t, time }: Store): Promise<Gauges> {
  const rows = await database.read(async (session) => {
    await time.follow(session);
    return session.rows<GaugesRow>(selectGauges(t));
  });
  const [row] = rows;
  if (row === undefined) throw new RangeError('the statement for the gauges returned no row');
  const oldest = rows.flatMap((row) => waitingEvent(row, time));
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

function waitingEvent(row: GaugesRow, time: Store['time']): readonly WaitingEvent[] {
  const { endpoint, id, received_ms: receivedMs, since_ms: sinceMs } = row;
  if (endpoint === null || id === null || receivedMs === null || sinceMs === null) return [];
  const at = (ms: number): Date => new Date(time.toCaller(ms));
  return [{ endpoint, id, receivedAt: at(receivedMs), since: at(sinceMs) }];
}
