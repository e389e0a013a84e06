import type { Conditions } from '../../../operator/finding/conditions.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { SUMMARY_COLUMNS, type SummaryRow } from './summary.ts';

/** When an event failed for the last time, as a filter asks for it. */
const FAILED_MS = `
  CASE
    WHEN e.state = 'dead' AND e.body IS NOT NULL THEN e.settled_ms
    WHEN e.state = 'pending' AND e.failures > 0
      THEN (SELECT ended_ms FROM hookbox_attempts WHERE seq = e.seq ORDER BY number DESC LIMIT 1)
  END`;

/**
 * One statement for every filter: candidates are looked up one by one, so no condition has to choose an index. The order
 * of a CROSS JOIN is kept: statistics from when the table was small must not make SQLite go through all of it.
 */
const FITTING = `
  SELECT ${SUMMARY_COLUMNS} FROM json_each(:seqs) AS candidate CROSS JOIN hookbox_events AS e ON e.seq = candidate.value
  WHERE (:endpoint IS NULL OR e.endpoint = :endpoint)
    AND (:id IS NULL OR e.id = :id)
    AND (:types IS NULL OR e.type IN (SELECT value FROM json_each(:types)))
    AND (:states IS NULL OR e.state IN (SELECT value FROM json_each(:states)))
    AND (:deadReasons IS NULL OR e.dead_reason IN (SELECT value FROM json_each(:deadReasons)))
    AND (:since IS NULL OR e.received_ms >= :since)
    AND (:until IS NULL OR e.received_ms < :until)
    AND (:failedSince IS NULL OR ${FAILED_MS} >= :failedSince)
    AND (:failedUntil IS NULL OR ${FAILED_MS} < :failedUntil)
    AND (:fingerprint IS NULL
      OR (e.state = 'dead' AND e.body IS NOT NULL AND ifnull(e.fingerprint, e.dead_reason) = :fingerprint))
    AND (:ignoredSince IS NULL OR (e.state = 'ignored' AND e.settled_ms >= :ignoredSince))
    AND (:retrying IS NULL OR (e.state = 'pending' AND e.failures > 0) = :retrying)
    AND (:redelivered IS NULL OR EXISTS (SELECT 1 FROM hookbox_redeliveries WHERE seq = e.seq) = :redelivered)
    AND (:conflict IS NULL OR EXISTS (SELECT 1 FROM hookbox_conflicts WHERE seq = e.seq) = :conflict)
    AND (:bulk IS NULL
      OR EXISTS (SELECT 1 FROM hookbox_bulk_events WHERE bulk = :bulk AND seq = e.seq AND result = 'done'))
    AND (:error IS NULL OR EXISTS (SELECT 1 FROM hookbox_attempts WHERE seq = e.seq AND error_name IS NOT NULL))
    AND (:term IS NULL OR e.seq > :indexed OR EXISTS (SELECT 1 FROM hookbox_terms WHERE term = :term AND seq = e.seq))
    AND (:otherTerm IS NULL OR e.seq > :indexed
      OR EXISTS (SELECT 1 FROM hookbox_terms WHERE term = :otherTerm AND seq = e.seq))`;

/** Those of some events that fit as far as their columns say, and the index of terms as far as that goes. */
export function fittingRows(
  database: SqliteDatabase,
  { filter, error, terms: [term, otherTerm] }: Conditions,
  seqs: readonly number[],
  indexed: number,
): ReadonlyMap<number, SummaryRow> {
  const rows = statement(database, FITTING).all({
    seqs: JSON.stringify(seqs),
    endpoint: filter.endpoint ?? null,
    id: filter.id ?? null,
    types: asJson(filter.types),
    states: asJson(filter.states),
    deadReasons: asJson(filter.deadReasons),
    since: filter.since?.getTime() ?? null,
    until: filter.until?.getTime() ?? null,
    failedSince: filter.failedSince?.getTime() ?? null,
    failedUntil: filter.failedUntil?.getTime() ?? null,
    fingerprint: filter.fingerprint ?? null,
    ignoredSince: filter.ignoredSince?.getTime() ?? null,
    retrying: asNumber(filter.retrying),
    redelivered: asNumber(filter.redelivered),
    conflict: asNumber(filter.conflict),
    bulk: filter.bulk ?? null,
    error,
    term: term ?? null,
    otherTerm: otherTerm ?? null,
    indexed,
  });
  return new Map(rows.map((row) => [(row as SummaryRow).seq, row as SummaryRow]));
}

function asJson(list: readonly string[] | undefined): string | null {
  return list === undefined ? null : JSON.stringify(list);
}

function asNumber(flag: boolean | undefined): number | null {
  return flag === undefined ? null : Number(flag);
}
