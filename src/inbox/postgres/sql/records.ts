import type { Instant } from '../../../events/instant.ts';
import type { IncomingEvent, StoredEvent } from '../../event.ts';
import { occurrencesOf, type Times } from '../../rules/accept.ts';
import type { DatabaseTime } from '../database-time.ts';
import { keyOrNull, rowOf, type Tables } from './tables.ts';

interface CreatedColumns {
  readonly created_ms: number | null;
  readonly created_ns: number | null;
}

export function createdOf({ created_ms: ms, created_ns: ns }: CreatedColumns): Instant | null {
  return ms === null ? null : { ms, ns: ns ?? 0 };
}

/** `type_key` and `entity_key` are those of `queue` and `shelf`. */
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

/** Another program deleted the row of its state. */
export const LOST = 'queue.seq IS NULL AND shelf.seq IS NULL AND proved.seq IS NULL';

export const LOST_REASON =
  "CASE WHEN events.type IS NULL OR events.created_ms IS NULL THEN 'invalid' ELSE 'crashed' END";

/** Processed events need proof. A lost event is dead, because no processor will handle it. */
export const STATE = stateWhere('');

function stateWhere(first: string): string {
  return `
  CASE ${first} WHEN queue.seq IS NOT NULL THEN CASE WHEN queue.lease_until_ms IS NULL THEN 'pending' ELSE 'processing' END
    WHEN ${LOST} THEN 'dead' ELSE coalesce(shelf.state, 'processed') END AS state,
  CASE WHEN ${LOST} THEN ${LOST_REASON} ELSE shelf.dead_reason END AS dead_reason`;
}

/** A processed event is in processing until its handler ends. */
export function stateToActOn(t: Tables): string {
  const leased = `SELECT leased.processed FROM ${t.queue} AS leased WHERE leased.seq = events.seq LIMIT 1`; // as of rowOf
  return stateWhere(`WHEN (${leased}) THEN 'processing'`);
}

export function joined(t: Tables): string {
  return `${t.events} AS events ${places(t)}`;
}

/**
 * For `STATE`. An attempt or an import proves that an event was processed, until a rerun cancels this proof. A tombstone
 * has no
 * such attempts, and is never handled again.
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

/** `again` and `other`, for `timesIn`. */
export const TIMES = ['again', 'other'].map(
  (name) => `CASE WHEN ${name}.seq IS NOT NULL THEN json_build_object('count', ${name}.count, 'first', ${name}.first_ms,
    'last', ${name}.last_ms, 'recent', ${name}.recent::json)::text END AS ${name}`,
);

export function timesOfEvents(t: Tables): string {
  const join = (table: string, as: string): string => `LEFT JOIN ${rowOf(table, as, 'found.seq = events.seq')} ON true`;
  return `${join(t.redeliveries, 'again')} ${join(t.conflicts, 'other')}`;
}

export function timesIn(text: string | null): Times | null {
  return text === null ? null : (JSON.parse(text) as Times);
}

/** One statement, so all rows are from one moment. */
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
