import type { SearchEngine } from '../../operator/finding/find-page.ts';
import { placed, type SeqOrder, type SeqRange } from '../../operator/finding/seq-ranges.ts';
import { SORTED, type SearchIndexes } from '../../operator/finding/indexes.ts';
import type { EventState } from '../../event.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { PUT_AWAY, READY, READY_ENDPOINTS, DEAD, PRINT } from '../sql/named-statements.ts';
import { statement } from '../sql/statement.ts';
import { type Access, readTogether } from './access.ts';
import { indexNew } from './search-words.ts';

export function searchEngine(access: Access): SearchEngine {
  const indexes = searchIndexes(access.database);
  return {
    indexNew: (limit, upTo) => indexNew(access, limit, upTo),
    indexes: () => indexes,
    // Deliveries run between two groups.
    groupsAtOnce: { counted: 1, shown: 1 },
  };
}

/** At most this many reads: one for each endpoint, or for each of its types. */
const LOOKS = 1_000;

/**
 * Each index is named, because SQLite may otherwise read the whole table.
 *
 * @param connection - the inbox may open the file again
 */
function searchIndexes(connection: () => SqliteDatabase): SearchIndexes {
  return {
    everything: { from: 'hookbox_events NOT INDEXED WHERE TRUE' },
    retrying: { from: "hookbox_events INDEXED BY hookbox_events_retrying WHERE state = 'pending' AND failures > 0" },
    superseded: {
      from: `hookbox_attempts AS last INDEXED BY hookbox_attempts_superseded
        WHERE outcome = 'superseded' AND number = (SELECT max(number) FROM hookbox_attempts WHERE seq = last.seq)`,
    },
    group: (fingerprint) => ({ from: `${DEAD} AND ${PRINT} = +$4`, values: [fingerprint] }),
    state: (state) => ({ from: shelved(state) }),
    withIds: `
      SELECT events.seq FROM json_each($1) CROSS JOIN hookbox_events AS events INDEXED BY hookbox_events_by_id
      WHERE id_hash = hookbox_id_hash(value) AND events.id = value`,
    died: `
      SELECT seq, settled_ms FROM hookbox_events INDEXED BY hookbox_events_put_away_at
      WHERE ${PUT_AWAY} AND body IS NOT NULL AND state = 'dead' AND settled_ms >= $1 AND (settled_ms, seq) < ($2, $3)
      ORDER BY settled_ms DESC, seq DESC LIMIT CAST($4 AS bigint)`,
    nextId: (is, value) => (is === '>' ? idAfter(value) : `SELECT coalesce((${withId(value)}), (${idAfter(value)}))`),
    samplesAtOnce: 1,
    receivedIn: (ranges, limit) => ranges.map((range) => receivedIn(connection(), range, limit)),
    inStates: (...given) => inStates(connection(), ...given),
  };
}

function withId(value: string): string {
  return `SELECT id FROM hookbox_events WHERE id_hash = hookbox_id_hash(${value}) AND id = ${value} LIMIT 1`;
}

/** No index orders ids: the newest 2,000 events are searched. */
function idAfter(value: string): string {
  return `
    SELECT min(id)
    FROM (SELECT id FROM hookbox_events WHERE seq > (SELECT max(seq) - 2000 FROM hookbox_events) LIMIT 2000)
    WHERE id > ${value}`;
}

function shelved(state: string): string {
  return `hookbox_events INDEXED BY hookbox_events_put_away WHERE ${PUT_AWAY} AND state = '${state}'`;
}

/** `null` for too many to sort. */
type List = (range: SeqRange, limit: number, order: SeqOrder) => readonly number[] | null;

/** `null` if a state cannot be listed. */
function inStates(
  database: SqliteDatabase,
  states: readonly EventState[],
  types: readonly string[] | undefined,
  ...page: Parameters<List>
): readonly number[] | null {
  const lists = states.flatMap((state) => inState(database, state, types));
  const [only] = lists;
  if (only !== undefined && lists.length === 1) return only(...page);
  return readTogether(database, () => {
    const seqs = new Set<number>();
    for (const list of lists) {
      const found = list(...page);
      if (found === null) return null;
      for (const seq of found) seqs.add(seq);
    }
    return placed([...seqs], ...page);
  });
}

function inState(database: SqliteDatabase, state: EventState, types: readonly string[] | undefined): readonly List[] {
  const from =
    (events: string): List =>
    (range, limit, order) => {
      const direction = order === 'newest' ? 'DESC' : 'ASC';
      const sql = `SELECT seq FROM ${events} AND seq >= :from AND seq < :before ORDER BY seq ${direction} LIMIT +:limit`;
      return seqsOf(database, sql, { ...range, limit });
    };
  const aside = (parked: 1 | 2): List =>
    from(`hookbox_events INDEXED BY hookbox_events_aside WHERE parked > 0 AND parked = ${parked}`);
  const sorted =
    (read: () => readonly number[] | null): List =>
    (...page) => {
      const seqs = read();
      return seqs === null || seqs.length > SORTED ? null : placed(seqs, ...page);
    };
  switch (state) {
    case 'pending':
      return [aside(1), aside(2), sorted(() => ready(database, types))];
    case 'processing':
      return [sorted(() => seqsOf(database, PROCESSING))];
    case 'processed':
      return [() => null];
    default:
      return [from(shelved(state))];
  }
}

/** Only running handlers have them. */
const PROCESSING = `
  SELECT seq FROM hookbox_events INDEXED BY hookbox_events_leased
  WHERE lease_until_ms IS NOT NULL AND state = 'processing' LIMIT ${SORTED + 1}`;
const ENDPOINTS = `
  WITH RECURSIVE ${READY_ENDPOINTS} SELECT value FROM endpoints WHERE value IS NOT NULL LIMIT ${LOOKS + 1}`;
const READY_OF_ENDPOINT = `
  SELECT seq FROM hookbox_events INDEXED BY hookbox_events_due_of_endpoint
  WHERE ${READY} AND endpoint = +:endpoint LIMIT +:limit`;
const READY_OF_TYPE = `
  SELECT seq FROM hookbox_events INDEXED BY hookbox_events_due_of_type
  WHERE ${READY} AND endpoint = +:endpoint AND type = +:type LIMIT +:limit`;

function ready(database: SqliteDatabase, types: readonly string[] | undefined): readonly number[] | null {
  const looks = statement<{ value: string }>(database, ENDPOINTS)
    .all()
    .flatMap(({ value: endpoint }): readonly { endpoint: string; type?: string }[] =>
      types === undefined ? [{ endpoint }] : [...new Set(types)].map((type) => ({ endpoint, type })),
    );
  if (looks.length > LOOKS) return null;
  const seqs: number[] = [];
  for (const look of looks) {
    const sql = look.type === undefined ? READY_OF_ENDPOINT : READY_OF_TYPE;
    seqs.push(...seqsOf(database, sql, { ...look, limit: SORTED + 1 - seqs.length }));
    if (seqs.length > SORTED) return null;
  }
  return seqs;
}

function seqsOf(database: SqliteDatabase, sql: string, parameters = {}): readonly number[] {
  return statement<{ seq: number }>(database, sql)
    .all(parameters)
    .map(({ seq }) => seq);
}

function receivedIn(database: SqliteDatabase, { from, before }: SeqRange, limit: number): readonly number[] {
  const sql = 'SELECT received_ms FROM hookbox_events WHERE seq >= :from AND seq < :before ORDER BY seq LIMIT +:limit';
  return statement<{ received_ms: number }>(database, sql)
    .all({ from, before, limit })
    .map((row) => row.received_ms);
}
