import type { Died, FailureSpan, Index, SearchTables } from '../../../operator/finding/candidates.ts';
import { inOrder, type SeqOrder, type SeqRange } from '../../../operator/finding/seq-ranges.ts';
import type { FoundName } from '../../../operator/search.ts';
import { entityTerm } from '../../../rules/search-words.ts';
import type { EventState, PutAwayState } from '../../../state.ts';
import type { SqliteDatabase, SqliteStatement } from '../../opening/database.ts';
import { newestSeq } from '../../sql/newest-seq.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { PUT_AWAY, READY, READY_ENDPOINTS } from '../../sql/queue-statements.ts';
import { readTogether } from '../read-together.ts';
import { disorder, receivedIn } from './received-times.ts';
import { indexedUpTo } from './search-words.ts';

/** Lists events of an index; `null` if there are too many to put them in this order. */
type Listing = (database: SqliteDatabase, range: SeqRange, limit: number, order: SeqOrder) => readonly number[] | null;
/** A listing that never returns `null`. */
type Listed = (...parameters: Parameters<Listing>) => readonly number[];

/** At most so many are put in the order of a page, of an index that has another order. */
const SORTED = 5_000;
/** At most so many reads for pending events: one for each endpoint, or for each type at each endpoint. */
const LOOKS = 1_000;

/** @param connection - may be another one each time, because the inbox may open the file again */
export function searchTables(connection: () => SqliteDatabase): SearchTables {
  return {
    // A statement costs next to nothing, and each sample reads rows.
    samplesAtOnce: 1,
    extent() {
      const database = connection();
      return { newestSeq: newestSeq(database), indexed: indexedUpTo(database), disorder: disorder(database) };
    },
    receivedIn: (ranges, limit) => ranges.map((range) => receivedIn(connection(), range, limit)),
    list: (parts, limit, order) => parts.map(({ index, range }) => listingOf(index)(connection(), range, limit, order)),
    count({ index, range }, limit) {
      if (index.of === 'everything') {
        return countOf(connection(), `${EVENTS} WHERE seq >= :from AND seq < :before`, { ...range, limit });
      }
      if (index.of === 'died')
        return countOf(connection(), `${DIED} AND settled_ms < :before`, { ...index.span, limit });
      return listingOf(index)(connection(), range, limit, 'newest')?.length ?? null;
    },
    diedBefore: (span, place, limit) => diedBefore(connection(), span, place, limit),
    namesBeginning: (...given) => namesBeginning(connection(), ...given),
  };
}

function listingOf(index: Index): Listing {
  switch (index.of) {
    case 'everything':
      return everything;
    case 'term':
      return from('hookbox_terms', 'term = +:term', { term: index.term });
    case 'ids':
      return merged(index.ids.map(withId));
    case 'group':
      return ofGroup(index.fingerprint);
    case 'state':
      return inPutAway(index.state);
    case 'retrying':
      return retrying;
    case 'died':
      return diedIn(index.span);
    case 'conflict':
      return withConflict;
    case 'redelivered':
      return redelivered;
    case 'bulk':
      return from('hookbox_bulk_events', "bulk = +:id AND result = 'done'", { id: index.id });
    case 'states':
      return merged(index.states.flatMap((state) => inState(state, index.types)));
  }
}

/**
 * What an index has of a range. It is named, because SQLite may otherwise think that going through the table by `seq` is
 * as good; and a partial one is only taken where its condition is repeated word by word.
 */
function from(table: string, where: string, parameters: Readonly<Record<string, unknown>> = {}): Listed {
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

function withId(id: string): Listed {
  const where = 'id_hash = hookbox_id_hash(+:id) AND id = +:id';
  return from('hookbox_events INDEXED BY hookbox_events_by_id', where, { id });
}

function ofGroup(fingerprint: string): Listed {
  const where = "state = 'dead' AND body IS NOT NULL AND ifnull(fingerprint, dead_reason) = +:fingerprint";
  return from('hookbox_events INDEXED BY hookbox_events_dead', where, { fingerprint });
}

function inPutAway(state: PutAwayState): Listed {
  const where = `${PUT_AWAY} AND state = +:state`;
  return from('hookbox_events INDEXED BY hookbox_events_put_away', where, { state });
}

/** Of the pending ones, those that wait for an older one (1) and those that no processor has looked at (2). */
function aside(parked: 1 | 2): Listed {
  return from('hookbox_events INDEXED BY hookbox_events_aside', 'parked > 0 AND parked = +:parked', { parked });
}

/** What together names all events of a state. */
function inState(state: EventState, types: readonly string[] | undefined): readonly Listing[] {
  switch (state) {
    case 'pending':
      return [aside(1), aside(2), ready(types)];
    case 'processing':
      return [processing];
    case 'dead':
    case 'ignored':
    case 'discarded':
      return [inPutAway(state)];
    case 'processed':
      return [() => null];
  }
}

/** There are as many as handlers that run now. */
const processing: Listing = (database, range, limit, order) => {
  const sql = `
    SELECT seq FROM hookbox_events INDEXED BY hookbox_events_leased
    WHERE lease_until_ms IS NOT NULL AND state = 'processing' LIMIT ${SORTED + 1}`;
  const seqs = seqsOf(statement(database, sql));
  return seqs.length > SORTED ? null : placed(seqs, range, limit, order);
};

/** What may be claimed stands by its endpoint, its type, and by when it is due. */
function ready(types: readonly string[] | undefined): Listing {
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
function merged(listings: readonly Listing[]): Listing {
  const [only] = listings;
  if (only !== undefined && listings.length === 1) return only;
  return (database, range, limit, order) =>
    readTogether(database, () => {
      const seqs = new Set<number>();
      for (const list of listings) {
        const found = list(database, range, limit, order);
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

function diedIn(span: FailureSpan): Listing {
  return (database, range, limit, order) => {
    const died = diedBefore(database, span, null, SORTED + 1).map(({ seq }) => seq);
    return died.length > SORTED ? null : placed(died, range, limit, order);
  };
}

function diedBefore(database: SqliteDatabase, span: FailureSpan, place: Died | null, limit: number): readonly Died[] {
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

function countOf(database: SqliteDatabase, events: string, parameters: Readonly<Record<string, unknown>>): number {
  const sql = `SELECT count(*) AS count FROM (SELECT 1 FROM ${events} LIMIT +:limit)`;
  return (statement(database, sql).get(parameters) as { count: number }).count; // its column
}

function seqsOf(select: SqliteStatement, parameters: Readonly<Record<string, unknown>> = {}): number[] {
  return select.all(parameters).map((row) => (row as { seq: number }).seq);
}

const WITH_ID = 'SELECT id AS name FROM hookbox_events WHERE id_hash = hookbox_id_hash(+:from) AND id = +:from LIMIT 1';
/** No index has the ids in their order: ids that begin with a text are looked for among the newest 2,000 events. */
const NEXT_ID = `
  SELECT min(id) AS name
  FROM (SELECT id FROM hookbox_events WHERE seq > (SELECT max(seq) - 2000 FROM hookbox_events) LIMIT 2000)
  WHERE id > +:from`;
const FIRST_TERM = 'SELECT term AS name FROM hookbox_terms WHERE term >= +:from ORDER BY term LIMIT 1';
const NEXT_TERM = 'SELECT term AS name FROM hookbox_terms WHERE term > +:from ORDER BY term LIMIT 1';

function namesBeginning(
  database: SqliteDatabase,
  kind: FoundName['what'],
  text: string,
  limit: number,
): readonly string[] {
  const find = (sql: string, from: string): string | null =>
    (statement(database, sql).get({ from }) as { name: string | null } | undefined)?.name ?? null;
  const next = kind === 'id' ? NEXT_ID : NEXT_TERM;
  const begin = kind === 'id' ? '' : kind === 'entity' ? entityTerm('') : 'merchant ';
  const names: string[] = [];
  let name = kind === 'id' ? (find(WITH_ID, text) ?? find(NEXT_ID, text)) : find(FIRST_TERM, begin + text);
  while (name?.startsWith(begin + text) === true) {
    names.push(name.slice(begin.length));
    name = names.length < limit ? find(next, name) : null;
  }
  return names;
}
