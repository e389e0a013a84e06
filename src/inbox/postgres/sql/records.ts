import type { Instant } from '../../../events/instant.ts';
import type { StoredEvent, DeadReason, EventState } from '../../event.ts';
import { occurrencesOf, type Times } from '../../rules/accept.ts';
import type { DatabaseTime } from '../database-time.ts';
import { rowOf, type Tables } from './tables.ts';

interface CreatedColumns {
  readonly created_ms: number | null;
  readonly created_ns: number | null;
}

/** The time that an event says of itself; `null` where an invalid one has none. */
export function createdOf({ created_ms: ms, created_ns: ns }: CreatedColumns): Instant | null {
  return ms === null ? null : { ms, ns: ns ?? 0 };
}

export interface TimesColumns {
  readonly count: number;
  readonly first_ms: number;
  readonly last_ms: number;
  /** JSON array of milliseconds, oldest first */
  readonly recent: string;
}

export function timesOf(row: TimesColumns | undefined): Times | null {
  if (row === undefined) return null;
  return { count: row.count, first: row.first_ms, last: row.last_ms, recent: JSON.parse(row.recent) as number[] };
}

/** Nothing says where an event stands, neither a place nor a proof that it was processed: its row was taken away from outside. */
export const LOST = 'queue.seq IS NULL AND shelf.seq IS NULL AND proved.seq IS NULL';

/** What a lost event is dead of. */
export const LOST_REASON =
  "CASE WHEN events.type IS NULL OR events.created_ms IS NULL THEN 'invalid' ELSE 'crashed' END";

/**
 * The state of an event, of `events` joined with `places`. The processed state needs proof. A lost event is dead, because no
 * processor will handle it.
 */
export const STATE = stateWhere('');

function stateWhere(first: string): string {
  return `
  CASE ${first} WHEN queue.seq IS NOT NULL THEN CASE WHEN queue.lease_until_ms IS NULL THEN 'pending' ELSE 'processing' END
    WHEN ${LOST} THEN 'dead' ELSE coalesce(shelf.state, 'processed') END AS state,
  CASE WHEN ${LOST} THEN ${LOST_REASON} ELSE shelf.dead_reason END AS dead_reason`;
}

/** `STATE` for actions: an event whose handler still runs is in processing, though it may be processed. */
export function stateToActOn(t: Tables): string {
  const leased = `SELECT leased.processed FROM ${t.queue} AS leased WHERE leased.seq = events.seq LIMIT 1`; // as of rowOf
  return stateWhere(`WHEN (${leased}) THEN 'processing'`);
}

export function joined(t: Tables): string {
  return `${t.events} AS events ${places(t)}`;
}

/**
 * The join to `events` for `STATE`. A processed event whose handler still runs is not in the queue for that. An event
 * that is in neither place was processed if an attempt, or an import, says so and no rerun has taken that back. The
 * attempts of a tombstone no longer say so, and no processor handles it again.
 */
export function places(t: Tables): string {
  const same = 'found.seq = events.seq';
  const says = (table: string, more = ''): string =>
    `(SELECT true FROM ${table} AS found WHERE ${same}${more} LIMIT 1)`;
  return `
    LEFT JOIN ${rowOf(t.queue, 'queue', `${same} AND NOT found.processed`)} ON true
    LEFT JOIN ${rowOf(t.shelf, 'shelf', same)} ON true
    LEFT JOIN LATERAL (
      SELECT events.seq WHERE queue.seq IS NULL AND shelf.seq IS NULL
        AND (events.body IS NULL OR ${says(t.attempts, ' AND found.prunable')} OR ${says(t.imported)})
    ) AS proved ON true`;
}

interface StoredRow extends CreatedColumns {
  readonly seq: number;
  readonly endpoint: string;
  readonly id: string;
  readonly type: string | null;
  readonly entity: string | null;
  readonly verified: boolean;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly body: Buffer | null;
  readonly received_ms: number;
  readonly sent_again: string | null;
  readonly other: string | null;
  readonly other_body: Buffer | null;
}

/** How often and when something happened, of the row of a join; `timesIn` reads it. */
export function timesColumn(name: string): string {
  return `CASE WHEN ${name}.seq IS NOT NULL THEN json_build_object('count', ${name}.count, 'first_ms', ${name}.first_ms,
    'last_ms', ${name}.last_ms, 'recent', ${name}.recent)::text END`;
}

export function timesIn(text: string | null): Times | null {
  return timesOf(text === null ? undefined : (JSON.parse(text) as TimesColumns));
}

/** What an inbox shows of events, by a condition on `events`, in one statement: so it is of one moment. */
export function selectStored(t: Tables, where: string): string {
  return `
    SELECT events.seq, events.endpoint, events.id, events.type, events.created_ms, events.created_ns, events.entity,
      events.verified, ${STATE}, events.body, events.received_ms, ${timesColumn('again')} AS sent_again,
      ${timesColumn('other')} AS other, other.body AS other_body
    FROM ${joined(t)}
      LEFT JOIN ${rowOf(t.redeliveries, 'again', 'found.seq = events.seq')} ON true
      LEFT JOIN ${rowOf(t.conflicts, 'other', 'found.seq = events.seq')} ON true
    WHERE ${where}`;
}

/** With times of the caller's clock. */
export function storedEvent(found: unknown, time: Pick<DatabaseTime, 'toCaller'>): StoredEvent {
  const row = found as StoredRow; // the columns of selectStored
  const times = (text: string | null): Times | null => {
    const own = timesIn(text);
    if (own === null) return null;
    const { count, first, last, recent } = own;
    const at = (ms: number): number => time.toCaller(ms);
    return { count, first: at(first), last: at(last), recent: recent.map(at) };
  };
  return {
    seq: row.seq,
    endpoint: row.endpoint,
    id: row.id,
    type: row.type,
    created: createdOf(row),
    entity: row.entity,
    verified: row.verified,
    state: row.state,
    deadReason: row.dead_reason,
    body: row.body,
    receivedAt: new Date(time.toCaller(row.received_ms)),
    redeliveries: occurrencesOf(times(row.sent_again)),
    conflict: row.other_body && { ...occurrencesOf(times(row.other)), body: row.other_body },
  };
}
