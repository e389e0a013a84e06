import type { EventFilter } from '../../../operator/filter.ts';
import { payloadPath, type PayloadStep } from '../../../operator/payload-path.ts';
import { readPlaces } from '../../../operator/payload-places.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { BodyText, textOf } from './body-text.ts';
import { isSameNumber } from './same-number.ts';
import { lastErrorOf, SUMMARY_COLUMNS, type SummaryRow } from './summary.ts';
import type { Term } from '../../../rules/search-words.ts';
import { hasTerms } from './search-words.ts';

/** A filter, read once for a page. */
export interface Conditions {
  readonly filter: EventFilter;
  readonly terms: readonly Term[];
  /** in lower case */
  readonly error: string | null;
  readonly payload: readonly { readonly steps: readonly PayloadStep[]; readonly value: string }[];
}

export function conditionsOf(filter: EventFilter): Conditions {
  const terms: Term[] = [];
  if (filter.entity !== undefined) terms.push(`entity ${filter.entity}`);
  if (filter.merchant !== undefined) terms.push(`merchant ${filter.merchant}`);
  return {
    filter,
    terms,
    error: filter.error?.toLowerCase() ?? null,
    payload: (filter.payload ?? []).map(({ path, value }) => ({ steps: payloadPath(path), value })),
  };
}

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
    AND (:fingerprint IS NULL
      OR (e.state = 'dead' AND e.body IS NOT NULL AND ifnull(e.fingerprint, e.dead_reason) = :fingerprint))
    AND (:ignoredSince IS NULL
      OR (e.state = 'ignored' AND e.discarded_ms IS NULL AND e.settled_ms >= :ignoredSince))
    AND (:retrying IS NULL OR (e.state = 'pending' AND e.failures > 0) = :retrying)
    AND (:redelivered IS NULL OR EXISTS (SELECT 1 FROM hookbox_redeliveries WHERE seq = e.seq) = :redelivered)
    AND (:conflict IS NULL OR EXISTS (SELECT 1 FROM hookbox_conflicts WHERE seq = e.seq) = :conflict)
    AND (:error IS NULL OR EXISTS (SELECT 1 FROM hookbox_attempts WHERE seq = e.seq AND error_name IS NOT NULL))`;

/** Those of some events that fit as far as their columns say. */
export function fittingRows(
  database: SqliteDatabase,
  { filter, error }: Conditions,
  seqs: readonly number[],
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
    fingerprint: filter.fingerprint ?? null,
    ignoredSince: filter.ignoredSince?.getTime() ?? null,
    retrying: asNumber(filter.retrying),
    redelivered: asNumber(filter.redelivered),
    conflict: asNumber(filter.conflict),
    error,
  });
  return new Map(rows.map((row) => [(row as SummaryRow).seq, row as SummaryRow]));
}

/**
 * Whether a row fits what its columns do not say: its terms, the text of its error and the values in its body. The body
 * comes last, as it costs the most; it is parsed once, whatever is asked of it. Whoever runs this may rest at each step.
 *
 * @param indexed - up to which `seq` the index knows the terms
 */
export function* fitsClosely(
  database: () => SqliteDatabase,
  { terms, error, payload }: Conditions,
  row: SummaryRow,
  indexed: number,
): Generator<void, boolean> {
  if (error !== null && !errorText(database(), row.seq).includes(error)) return false;
  const body = new BodyText(database, row.seq);
  if (terms.length > 0 && !hasTerms(database(), row, terms, indexed, body)) return false;
  if (payload.length === 0) return true;
  yield;
  const text = body.read();
  if (text === null) return false;
  yield;
  const tokens = yield* readPlaces(
    text,
    payload.map(({ steps }) => steps),
  );
  return payload.every(({ value }, n) => readsAs(tokens[n] ?? null, value));
}

/** How many bytes of its body have to be looked at, counted once for each condition. */
export function bytesToLookAt({ terms, payload }: Conditions, row: SummaryRow, indexed: number): number {
  const inBody = payload.length + (row.seq > indexed ? terms.length : 0);
  return inBody * (row.bytes ?? 0);
}

function errorText(database: SqliteDatabase, seq: number): string {
  const error = lastErrorOf(database, seq);
  // No text is in none.
  return error === null ? '' : `${error.name}: ${error.message}`.toLowerCase();
}

/** Whether what is written in a body reads as a value: a text by what it says, a number however it is written. */
function readsAs(token: string | null, value: string): boolean {
  if (token === null) return false;
  if (token.startsWith('"')) return textOf(token) === value;
  return token === value || isSameNumber(token, value);
}

function asJson(list: readonly string[] | undefined): string | null {
  return list === undefined ? null : JSON.stringify(list);
}

function asNumber(flag: boolean | undefined): number | null {
  return flag === undefined ? null : Number(flag);
}
