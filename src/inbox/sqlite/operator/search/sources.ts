import type { Source, Sources } from '../../../operator/finding/candidates.ts';
import { inOrder, type SeqOrder, type SeqRange } from '../../../operator/finding/seq-ranges.ts';
import type { Amounts, Deaths, Died } from '../../../operator/finding/candidates.ts';
import { answer } from '../../../rules/steps.ts';
import type { EventState, PutAwayState } from '../../../state.ts';
import type { SqliteDatabase, SqliteStatement } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { PUT_AWAY, READY, READY_ENDPOINTS } from '../../sql/queue-statements.ts';
import { readTogether } from '../read-together.ts';

/** As a source, on a connection. */
type Finding = (database: SqliteDatabase, range: SeqRange, limit: number, order: SeqOrder) => readonly number[] | null;
/** One that always can. */
type Index = (...parameters: Parameters<Finding>) => readonly number[];

/** No more than this is put in order for a page, of what an index has in another one. */
const SORTED = 5_000;
/** No more looks than these for what may be claimed: one for each endpoint, or for each of the types at each endpoint. */
const LOOKS = 1_000;

/** The indexes of a file. */
export function sources(database: SqliteDatabase): Sources & Deaths & Amounts {
  const on =
    (find: Finding): Source =>
    (range, limit, order) =>
      answer(find(database, range, limit, order));
  return {
    everything: on(everything),
    withTerm: (term) => on(from('hookbox_terms', 'term = +:term', { term })),
    withId: (id) => on(withId(id)),
    ofGroup: (fingerprint) => on(ofGroup(fingerprint)),
    putAway: (state) => on(putAway(state)),
    retrying: on(retrying),
    diedIn: (span) =>
      on((_, range, limit, order) => {
        const died = diedBefore(database, span, null, SORTED + 1);
        return died.length > SORTED
          ? null
          : placed(
              died.map(({ seq }) => seq),
              range,
              limit,
              order,
            );
      }),
    diedBefore: (...given) => answer(diedBefore(database, ...given)),
    allIn: (range, limit) =>
      answer(amountOf(database, `${EVENTS} WHERE seq >= :from AND seq < :before`, { ...range, limit })),
    deadOf: (span, limit) => answer(amountOf(database, `${DIED} AND settled_ms < :before`, { ...span, limit })),
    withConflict: on(withConflict),
    redelivered: on(redelivered),
    ofBulk: (id) => on(from('hookbox_bulk_events', "bulk = +:id AND result = 'done'", { id })),
    inStates: (states, types) => on(merged(states.flatMap((state) => inState(state, types)))),
  };
}

/**
 * What an index has of a range. It is named, because SQLite may otherwise think that going through the table by `seq` is
 * as good; and a partial one is only taken where its condition is repeated word by word.
 */
function from(table: string, where: string, parameters: Readonly<Record<string, unknown>> = {}): Index {
  const sql = `SELECT seq FROM ${table} WHERE ${where} AND seq >= :from AND seq < :before`;
  return (database, range, limit, order) => {
    const ordered = `${sql} ORDER BY seq ${order === 'newest' ? 'DESC' : 'ASC'} LIMIT +:limit`;
    return seqsOf(statement(database, ordered), { ...parameters, ...range, limit });
  };
}

const EVENTS = 'hookbox_events NOT INDEXED';
const everything = from(EVENTS, 'TRUE');
const retrying = from('hookbox_events INDEXED BY hookbox_events_retrying', "state = 'pending' AND failures > 0");
const withConflict = from('hookbox_conflicts', 'TRUE');
const redelivered = from('hookbox_redeliveries', 'TRUE');

function withId(id: string): Index {
  const where = 'id_hash = hookbox_id_hash(+:id) AND id = +:id';
  return from('hookbox_events INDEXED BY hookbox_events_by_id', where, { id });
}

function ofGroup(fingerprint: string): Index {
  const where = "state = 'dead' AND body IS NOT NULL AND ifnull(fingerprint, dead_reason) = +:fingerprint";
  return from('hookbox_events INDEXED BY hookbox_events_dead', where, { fingerprint });
}

function putAway(state: PutAwayState): Index {
  const where = `${PUT_AWAY} AND state = +:state`;
  return from('hookbox_events INDEXED BY hookbox_events_put_away', where, { state });
}

/** Of the pending ones, those that wait for an older one (1) and those that no processor has looked at (2). */
function aside(parked: 1 | 2): Index {
  return from('hookbox_events INDEXED BY hookbox_events_aside', 'parked > 0 AND parked = +:parked', { parked });
}

/** What together names all events of a state. */
function inState(state: EventState, types: readonly string[] | undefined): readonly Finding[] {
  switch (state) {
    case 'pending':
      return [aside(1), aside(2), ready(types)];
    case 'processing':
      return [processing];
    case 'dead':
    case 'ignored':
    case 'discarded':
      return [putAway(state)];
    case 'processed':
      return [() => null];
  }
}

/** There are as many as handlers that run now. */
const processing: Finding = (database, range, limit, order) => {
  const sql = `
    SELECT seq FROM hookbox_events INDEXED BY hookbox_events_leased
    WHERE lease_until_ms IS NOT NULL AND state = 'processing' LIMIT ${SORTED + 1}`;
  const seqs = seqsOf(statement(database, sql));
  return seqs.length > SORTED ? null : placed(seqs, range, limit, order);
};

/** What may be claimed stands by its endpoint, its type, and by when it is due. */
function ready(types: readonly string[] | undefined): Finding {
  return (database, range, limit, order) => {
    const present = statement(database, PRESENT).all() as readonly { value: string }[];
    const looks = present.flatMap(({ value: endpoint }): readonly Look[] =>
      types === undefined ? [{ endpoint }] : [...new Set(types)].map((type) => ({ endpoint, type })),
    );
    if (looks.length > LOOKS) return null;
    const seqs: number[] = [];
    for (const look of looks) {
      const select = look.type === undefined ? READY_OF_ENDPOINT : READY_OF_TYPE;
      seqs.push(...seqsOf(statement(database, select), { ...look, limit: SORTED + 1 - seqs.length }));
      if (seqs.length > SORTED) return null;
    }
    return placed(seqs, range, limit, order);
  };
}

interface Look {
  readonly endpoint: string;
  readonly type?: string;
}

const PRESENT = `
  WITH RECURSIVE ${READY_ENDPOINTS} SELECT value FROM endpoints WHERE value IS NOT NULL LIMIT ${LOOKS + 1}`;
const READY_OF_ENDPOINT = `
  SELECT seq FROM hookbox_events INDEXED BY hookbox_events_due_of_endpoint
  WHERE ${READY} AND endpoint = +:endpoint LIMIT +:limit`;
const READY_OF_TYPE = `
  SELECT seq FROM hookbox_events INDEXED BY hookbox_events_due_of_type
  WHERE ${READY} AND endpoint = +:endpoint AND type = +:type LIMIT +:limit`;

/**
 * What any of them names; `null` where one of them cannot, since its events would be missing. Read together, since
 * processors move events from one to the other.
 */
function merged(findings: readonly Finding[]): Finding {
  return (database, range, limit, order) =>
    readTogether(database, () => {
      const seqs = new Set<number>();
      for (const find of findings) {
        const found = find(database, range, limit, order);
        if (found === null) return null;
        for (const seq of found) seqs.add(seq);
      }
      return placed([...seqs], range, limit, order);
    });
}

function placed(
  seqs: readonly number[],
  { from, before }: SeqRange,
  limit: number,
  order: SeqOrder,
): readonly number[] {
  const within = seqs.filter((seq) => seq >= from && seq < before);
  return inOrder(within, order).slice(0, limit);
}

const DIED = `
  hookbox_events INDEXED BY hookbox_events_put_away_at
  WHERE ${PUT_AWAY} AND body IS NOT NULL AND state = 'dead' AND settled_ms >= :from`;
const DIED_AT = `SELECT seq, settled_ms AS settledMs FROM ${DIED}`;
const LAST_FIRST = 'ORDER BY settled_ms DESC, seq DESC LIMIT +:limit';

function diedBefore(
  database: SqliteDatabase,
  ...[span, place, limit]: Parameters<Deaths['diedBefore']>
): readonly Died[] {
  const rows =
    place === null
      ? statement(database, `${DIED_AT} AND settled_ms < :before ${LAST_FIRST}`).all({ ...span, limit })
      : statement(
          database,
          // A place was within the span already.
          `${DIED_AT} AND (settled_ms, seq) < (:settledMs, :seq) ${LAST_FIRST}`,
        ).all({ from: span.from, ...place, limit });
  return rows as readonly Died[];
}

function amountOf(database: SqliteDatabase, events: string, parameters: Readonly<Record<string, unknown>>): number {
  const sql = `SELECT count(*) AS count FROM (SELECT 1 FROM ${events} LIMIT +:limit)`;
  return (statement(database, sql).get(parameters) as { count: number }).count; // its column
}

function seqsOf(select: SqliteStatement, parameters: Readonly<Record<string, unknown>> = {}): number[] {
  return select.all(parameters).map((row) => (row as { seq: number }).seq);
}
