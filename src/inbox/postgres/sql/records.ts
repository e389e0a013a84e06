import type { Instant } from '../../../events/instant.ts';
import type { IncomingEvent, StoredEvent } from '../../event.ts';
import { occurrencesOf, type Times } from '../../rules/accept.ts';
import type { DatabaseTime } from '../database-time.ts';
import { keyOrNull, rowOf, type Tables } from './tables.ts';

interface CreatedColumns {
  readonly created_ms: number | null;
  readonly created_ns: number | null;
}

/** The time that an event says of itself; `null` where an invalid one has none. */
export function createdOf({ created_ms: ms, created_ns: ns }: CreatedColumns): Instant | null {
  return ms === null ? null : { ms, ns: ns ?? 0 };
}

/** What an event says of itself, by columns. `type_key` and `entity_key` are those of `queue` and `shelf`. */
export function contentColumns({ type, created, entity }: Pick<IncomingEvent, 'type' | 'created' | 'entity'>) {
  return {
    type,
    created_ms: created?.ms ?? null,
    created_ns: created?.ns ?? null,
    entity,
    type_key: keyOrNull(type),
    entity_key: keyOrNull(entity),
  };
}

/** Nothing says where an event is, neither a place nor a proof that it was processed: another program deleted its row. */
export const LOST = 'queue.seq IS NULL AND shelf.seq IS NULL AND proved.seq IS NULL';

/** Why a lost event is dead. */
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

/** The columns `again` and `other`, as `timesIn` reads them: how often and when it arrived again, and with another body. */
export const TIMES = ['again', 'other'].map(
  (name) => `CASE WHEN ${name}.seq IS NOT NULL THEN json_build_object('count', ${name}.count, 'first', ${name}.first_ms,
    'last', ${name}.last_ms, 'recent', ${name}.recent::json)::text END AS ${name}`,
);

/** The join to `events` for `TIMES`. */
export function timesOfEvents(t: Tables): string {
  const join = (table: string, as: string): string => `LEFT JOIN ${rowOf(table, as, 'found.seq = events.seq')} ON true`;
  return `${join(t.redeliveries, 'again')} ${join(t.conflicts, 'other')}`;
}

export function timesIn(text: string | null): Times | null {
  return text === null ? null : (JSON.parse(text) as Times);
}

/** What an inbox shows of events, by a condition on `events`, in one statement: so it is of one moment. */
export function selectStored(t: Tables, where: string): string {
  return `
    SELECT events.seq, events.endpoint, events.id, events.type, events.created_ms, events.created_ns, events.entity,
      events.verified, ${STATE}, events.body, events.received_ms, ${TIMES.join(', ')}, other.body AS other_body
    FROM ${joined(t)} ${timesOfEvents(t)} WHERE ${where}`;
}

export interface StoredRow
  extends CreatedColumns, Pick<StoredEvent, 'seq' | 'endpoint' | 'id' | 'type' | 'entity' | 'verified' | 'state'> {
  readonly dead_reason: StoredEvent['deadReason'];
  readonly body: Buffer | null;
  readonly received_ms: number;
  readonly again: string | null;
  readonly other: string | null;
  readonly other_body: Buffer | null;
}

/** With times of the caller's clock. */
export function storedEvent(row: StoredRow, { toCaller }: Pick<DatabaseTime, 'toCaller'>): StoredEvent {
  const occurrences = (text: string | null) => {
    const times = timesIn(text);
    if (times === null) return occurrencesOf(null);
    const { count, first, last, recent } = times;
    const at = (ms: number): number => toCaller(ms);
    return occurrencesOf({ count, first: at(first), last: at(last), recent: recent.map(at) });
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
    receivedAt: new Date(toCaller(row.received_ms)),
    redeliveries: occurrences(row.again),
    conflict: row.other_body && { ...occurrences(row.other), body: row.other_body },
  };
}
