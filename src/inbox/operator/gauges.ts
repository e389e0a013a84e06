import type { EventKey } from '../event.ts';
import { gaugeOf, MOST_COUNTED, type Gauge } from '../rules/counted.ts';
import type { Clock, Dialect } from './sql.ts';

/** The current numbers of events. hookbox counts each number only up to a limit. */
export interface Gauges {
  readonly pending: Gauge;
  /** Pending events with a failed attempt. */
  readonly retrying: Gauge;
  readonly processing: Gauge;
  /** Dead events, not counting tombstones. */
  readonly dead: Gauge;
  readonly ignored: Gauge;
  readonly discarded: Gauge;
  /** The oldest pending event. */
  readonly oldestPending: WaitingEvent | null;
  /** The oldest pending event of each entity, oldest first. At most 20. */
  readonly oldest: readonly WaitingEvent[];
}

/** A pending event and its age. */
export interface WaitingEvent extends EventKey {
  readonly receivedAt: Date;
  /** When the event was last rerun, if it has not failed since then; otherwise, when it was received. */
  readonly since: Date;
}

export interface GaugeSources {
  readonly figures: Readonly<Record<Figure, string>>;
  /** `endpoints (value)` of a WITH RECURSIVE: those with events that may be claimed. */
  readonly readyEndpoints: string;
  readonly candidates: readonly string[];
  /** Joins the row that has `due_ms` and `failures`. */
  readonly queueRow: string;
}

type Figure = 'aside' | 'ready' | 'retrying' | 'processing' | 'dead' | 'ignored' | 'discarded';

export type GaugesRow = Readonly<Record<Figure, number>> & {
  readonly endpoint: string | null;
  readonly id: string | null;
  readonly received_ms: number | null;
  readonly since_ms: number | null;
};

const FIRST = 100;
const OLDEST_SHOWN = 20;

export function firstOf(events: string, order: string): string {
  return `SELECT seq FROM ${events} ORDER BY ${order} LIMIT ${FIRST}`;
}

/**
 * One statement, so all figures are from one moment. Clocks jump and reruns are due later, so no index has the order of
 * receiving. Therefore
 * the first hundred of each order are compared. The row is repeated for each of the oldest.
 */
export function selectGauges({ t, joinRow, queued }: Dialect, sources: GaugeSources): string {
  const counted = Object.entries(sources.figures).map(
    ([figure, from]) => `(SELECT count(*) FROM (SELECT 1 FROM ${from} LIMIT ${MOST_COUNTED}) AS counted) AS ${figure}`,
  );
  // The wait of a rerun starts at its rerun, until it fails.
  const isRerun = `${queued}.trigger = 'manual' AND ${queued}.failures = 0`;
  const since = `CASE WHEN ${isRerun} THEN ${queued}.due_ms ELSE events.received_ms END`;
  const entity = `${queued}.endpoint, ${queued}.entity, CASE WHEN ${queued}.entity IS NULL THEN events.seq END`;
  return `
    WITH RECURSIVE
    candidates (seq) AS (${sources.candidates.map((first) => `SELECT * FROM (${first}) AS first`).join(' UNION ')}),
    ${sources.readyEndpoints},
    waiting AS (
      SELECT events.endpoint, events.id, events.seq, events.received_ms, ${since} AS since_ms,
        row_number() OVER (PARTITION BY ${entity} ORDER BY ${since}, events.seq) AS place
      FROM candidates ${joinRow(t.events, 'events', (row) => `${row}.seq = candidates.seq`)} ${sources.queueRow}
    ),
    oldest AS (SELECT * FROM waiting WHERE place = 1 ORDER BY since_ms, seq LIMIT ${OLDEST_SHOWN})
    SELECT ${counted.join(', ')}, oldest.endpoint, oldest.id, oldest.received_ms, oldest.since_ms
    FROM (SELECT 1) AS one LEFT JOIN oldest ON true ORDER BY oldest.since_ms, oldest.seq`;
}

export function gaugesOf(rows: readonly GaugesRow[], toCaller: Clock['toCaller']): Gauges {
  const [row] = rows;
  if (row === undefined) throw new RangeError('the statement for the gauges returned no row');
  const at = (ms: number): Date => new Date(toCaller(ms));
  const oldest = rows.flatMap(({ endpoint, id, received_ms: receivedMs, since_ms: sinceMs }) => {
    if (endpoint === null || id === null || receivedMs === null || sinceMs === null) return [];
    return [{ endpoint, id, receivedAt: at(receivedMs), since: at(sinceMs) }];
  });
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
