import type { Conditions } from '../../../operator/finding/conditions.ts';
import type { SearchedRow } from '../../../operator/finding/find-page.ts';
import type { EventSummary } from '../../../operator/search.ts';
import type { Session } from '../../driver/session.ts';
import { toKey } from '../../sql/keys.ts';
import { places, STATE } from '../../sql/records.ts';
import { rowOf, type Tables } from '../../sql/tables.ts';

/** A row that fits, with its last error where the text of that matters. */
export interface FittingRow extends SearchedRow {
  readonly lastError: EventSummary['lastError'];
}

interface Row {
  readonly seq: number;
  readonly endpoint: string;
  readonly id: string;
  readonly type: string | null;
  readonly entity: string | null;
  readonly bytes: number | null;
  readonly error_name: string | null;
  readonly error_message: string | null;
}

/** When an event failed for the last time, as a filter asks for it. */
const FAILED_MS =
  "CASE WHEN state = 'dead' AND body IS NOT NULL THEN settled_ms WHEN coalesce(retrying, false) THEN ended_ms END";

/** One statement for every filter: candidates are looked up one by one, so no condition has to choose an index. */
function fitting(t: Tables): string {
  const there = (table: string, where: string): string =>
    `((SELECT 1 FROM ${table} AS found WHERE ${where} LIMIT 1) IS NOT NULL)`;
  const indexed = (term: string): string => `
    (${term}::text IS NULL OR seq > $17 OR ${there(t.terms, `found.term = ${term} AND found.seq = event.seq`)})`;
  return `
    SELECT seq, endpoint, id, type, entity, bytes, error_name, error_message FROM (
      SELECT events.*, octet_length(events.body) AS bytes, ${STATE}, shelf.fingerprint, shelf.settled_ms,
        queue.failures > 0 AND queue.lease_until_ms IS NULL AS retrying, failed.error_name, failed.error_message,
        tried.ended_ms
      FROM unnest($1::bigint[]) AS candidate (seq)
        CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = candidate.seq')} ${places(t)}
        LEFT JOIN LATERAL (
          SELECT error_name, error_message FROM ${t.attempts}
          WHERE ($14::boolean OR $18::boolean) AND seq = events.seq AND error_name IS NOT NULL ORDER BY number DESC LIMIT 1
        ) AS failed ON true
        LEFT JOIN LATERAL (
          SELECT ended_ms FROM ${t.attempts}
          WHERE ($19::bigint IS NOT NULL OR $20::bigint IS NOT NULL) AND seq = events.seq ORDER BY number DESC LIMIT 1
        ) AS tried ON true
    ) AS event
    WHERE ($2::text IS NULL OR endpoint = $2)
      AND ($3::text IS NULL OR id = $3)
      AND ($4::text[] IS NULL OR type = ANY($4))
      AND ($5::text[] IS NULL OR state = ANY($5))
      AND ($6::text[] IS NULL OR dead_reason = ANY($6))
      AND ($7::bigint IS NULL OR received_ms >= $7)
      AND ($8::bigint IS NULL OR received_ms < $8)
      AND ($19::bigint IS NULL OR ${FAILED_MS} >= $19)
      AND ($20::bigint IS NULL OR ${FAILED_MS} < $20)
      AND ($9::text IS NULL OR (state = 'dead' AND body IS NOT NULL AND coalesce(fingerprint, dead_reason) = $9))
      AND ($10::bigint IS NULL OR (state = 'ignored' AND settled_ms >= $10))
      AND ($11::boolean IS NULL OR coalesce(retrying, false) = $11)
      AND ($12::boolean IS NULL OR ${there(t.redeliveries, 'found.seq = event.seq')} = $12)
      AND ($13::boolean IS NULL OR ${there(t.conflicts, 'found.seq = event.seq')} = $13)
      AND (NOT $14::boolean OR error_name IS NOT NULL)
      AND ($21::bigint IS NULL
        OR ${there(t.bulk_events, "found.bulk = $21 AND found.seq = event.seq AND found.result = 'done'")})
      AND ${indexed('$15')} AND ${indexed('$16')}`;
}

/** Those of some events that fit as far as their columns say, and the index of terms as far as that goes. */
export async function fittingRows(
  session: Session,
  t: Tables,
  { filter, error, text, retryGroup, terms: [term, otherTerm] }: Conditions,
  seqs: readonly number[],
  indexed: number,
): Promise<ReadonlyMap<number, FittingRow>> {
  const rows = await session.rows<Row>(fitting(t), [
    seqs,
    filter.endpoint ?? null,
    filter.id ?? null,
    filter.types ?? null,
    filter.states ?? null,
    filter.deadReasons ?? null,
    filter.since?.getTime() ?? null,
    filter.until?.getTime() ?? null,
    filter.fingerprint ?? null,
    filter.ignoredSince?.getTime() ?? null,
    filter.retrying ?? null,
    filter.redelivered ?? null,
    filter.conflict ?? null,
    error !== null,
    term === undefined ? null : toKey(term),
    otherTerm === undefined ? null : toKey(otherTerm),
    indexed,
    retryGroup !== null || text !== null,
    filter.failedSince?.getTime() ?? null,
    filter.failedUntil?.getTime() ?? null,
    filter.bulk ?? null,
  ]);
  return new Map(rows.map((row) => [row.seq, rowFrom(row)]));
}

function rowFrom({
  seq,
  endpoint,
  id,
  type,
  entity,
  bytes,
  error_name: name,
  error_message: message,
}: Row): FittingRow {
  return {
    seq,
    endpoint,
    id,
    type,
    entity,
    bytes,
    lastError: name === null ? null : { name, message: message ?? '' },
  };
}
