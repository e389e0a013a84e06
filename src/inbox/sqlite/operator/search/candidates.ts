import type { EventState } from '../../../state.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { PENDING_TYPES } from '../../sql/queue-statements.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { readTogether } from '../read-together.ts';
import type { Conditions } from './conditions.ts';
import type { SeqRange } from './seq-ranges.ts';
import type { Term } from '../../../rules/search-words.ts';

/** Names the events of a range that an index knows, the newest first and at most so many. */
type Index = (database: SqliteDatabase, range: SeqRange, limit: number) => readonly number[];
/** As an index; `null` where it cannot. */
type Source = (...parameters: Parameters<Index>) => readonly number[] | null;

/** No more than this is put in order for a page, of what an index has in another one. */
const SORTED = 5_000;
/** Types are the sender's text, so there may be any number of them. */
const TYPES = 1_000;

/** So many events of each source tell which one is the narrowest. */
const COMPARED = 500;

/** Names the events that a page looks at, of several ranges, the newest first and at most so many. */
export type Candidates = (database: SqliteDatabase, ranges: readonly SeqRange[], limit: number) => readonly number[];

/**
 * The narrowest source of events that the filter allows: the one whose first few hundred reach farthest back.
 *
 * @param ranges - where to look, the newest first
 * @param indexed - up to which `seq` the index knows the terms
 */
export function candidatesFor(
  database: SqliteDatabase,
  conditions: Conditions,
  ranges: readonly SeqRange[],
  indexed: number,
): Candidates {
  let narrowest: Source = everything;
  let first: readonly number[] | null = null;
  for (const source of [...sourcesFor(conditions, indexed), everything]) {
    // What names all that there is need not be compared with the table.
    if (source === everything && first !== null && first.length < COMPARED) break;
    const found = inRanges(database, source, ranges, COMPARED);
    if (found === null || (first !== null && !isNarrower(found, first))) continue;
    narrowest = source;
    first = found;
  }
  // Its queue may have grown meanwhile, and then the table has to do.
  return (now, among, limit) => inRanges(now, narrowest, among, limit) ?? inRanges(now, everything, among, limit) ?? [];
}

function isNarrower(one: readonly number[], other: readonly number[]): boolean {
  const reach = (seqs: readonly number[]): number => (seqs.length < COMPARED ? 0 : (seqs.at(-1) ?? 0));
  return reach(one) < reach(other) || (reach(one) === reach(other) && one.length < other.length);
}

function inRanges(
  database: SqliteDatabase,
  source: Source,
  ranges: readonly SeqRange[],
  limit: number,
): readonly number[] | null {
  const seqs: number[] = [];
  for (const range of ranges) {
    if (seqs.length === limit) break;
    const found = source(database, range, limit - seqs.length);
    if (found === null) return null;
    for (const seq of found) seqs.push(seq);
  }
  return seqs;
}

function sourcesFor({ filter, terms }: Conditions, indexed: number): readonly Source[] {
  const sources: Source[] = terms.map((term) => withTerm(term, indexed));
  if (filter.id !== undefined) sources.push(withId(filter.id));
  if (filter.fingerprint !== undefined) sources.push(ofGroup(filter.fingerprint));
  if (filter.deadReasons !== undefined) sources.push(putAway('dead'));
  if (filter.ignoredSince !== undefined) sources.push(putAway('ignored'));
  if (filter.retrying === true) sources.push(retrying);
  if (filter.conflict === true) sources.push(withConflict);
  if (filter.redelivered === true) sources.push(redelivered);
  if (filter.states !== undefined) {
    sources.push(merged([...new Set(filter.states)].flatMap((state) => inState(state, filter.types))));
  }
  return sources;
}

/**
 * What an index has of a range. It is named, because SQLite may otherwise think that going through the table by `seq` is
 * as good; and a partial one is only taken where its condition is repeated word by word.
 */
function from(table: string, where: string, parameters: Readonly<Record<string, unknown>> = {}): Index {
  const sql = `
    SELECT seq FROM ${table} WHERE ${where} AND seq >= :from AND seq < :before ORDER BY seq DESC LIMIT +:limit`;
  return (database, range, limit) => seqsOf(statement(database, sql).all({ ...parameters, ...range, limit }));
}

const everything = from('hookbox_events NOT INDEXED', 'TRUE');
const retrying = from('hookbox_events INDEXED BY hookbox_events_retrying', "state = 'pending' AND failures > 0");
const withConflict = from('hookbox_conflicts', 'TRUE');
const redelivered = from('hookbox_redeliveries', 'TRUE');

function withId(id: string): Source {
  return from('hookbox_events INDEXED BY hookbox_events_by_key', 'id = +:id', { id });
}

function ofGroup(fingerprint: string): Source {
  const where = "state = 'dead' AND body IS NOT NULL AND ifnull(fingerprint, dead_reason) = +:fingerprint";
  return from('hookbox_events INDEXED BY hookbox_events_dead', where, { fingerprint });
}

function putAway(state: 'dead' | 'ignored'): Source {
  const where = "state IN ('dead', 'ignored') AND state = +:state";
  return from('hookbox_events INDEXED BY hookbox_events_put_away', where, { state });
}

/** Of the pending ones, those that wait for an older one (1) and those that no processor has looked at (2). */
function aside(parked: 1 | 2): Source {
  return from('hookbox_events INDEXED BY hookbox_events_aside', 'parked > 0 AND parked = +:parked', { parked });
}

/** What is not in the index of terms yet, and what that has. */
function withTerm(term: Term, indexed: number): Source {
  const known = from('hookbox_terms', 'term = +:term', { term });
  return (database, range, limit) => {
    const rest = everything(database, { ...range, from: Math.max(range.from, indexed + 1) }, limit);
    const before = Math.min(range.before, indexed + 1);
    return [...rest, ...known(database, { ...range, before }, limit - rest.length)];
  };
}

/** The sources that together name all events of a state. */
function inState(state: EventState, types: readonly string[] | undefined): readonly Source[] {
  switch (state) {
    case 'pending':
      return [aside(1), aside(2), ready(types)];
    case 'processing':
      return [processing];
    case 'dead':
    case 'ignored':
      return [putAway(state)];
    case 'processed':
      return [() => null];
  }
}

/** There are as many as handlers that run now. */
const processing: Source = (database, range, limit) => {
  const sql = `
    SELECT seq FROM hookbox_events INDEXED BY hookbox_events_leased WHERE state = 'processing' LIMIT ${SORTED + 1}`;
  const seqs = seqsOf(statement(database, sql).all());
  return seqs.length > SORTED ? null : newestOf(seqs, range, limit);
};

/** What may be claimed stands by its type and by when it is due. */
function ready(types: readonly string[] | undefined): Source {
  return (database, range, limit) => {
    const present = statement(database, READY_TYPES).all() as readonly { type: string }[];
    if (present.length > TYPES) return null;
    const seqs: number[] = [];
    for (const { type } of present) {
      if (types !== undefined && !types.includes(type)) continue;
      seqs.push(...seqsOf(statement(database, READY_OF_TYPE).all({ type, limit: SORTED + 1 - seqs.length })));
      if (seqs.length > SORTED) return null;
    }
    return newestOf(seqs, range, limit);
  };
}

const READY_TYPES = `${PENDING_TYPES} LIMIT ${TYPES + 1}`;
const READY_OF_TYPE = `
  SELECT seq FROM hookbox_events INDEXED BY hookbox_events_due
  WHERE state = 'pending' AND parked = 0 AND type = +:type LIMIT +:limit`;

/**
 * What any of the sources names; `null` where one of them cannot, since its events would be missing. Read together, since
 * processors move events from one to the other.
 */
function merged(sources: readonly Source[]): Source {
  return (database, range, limit) =>
    readTogether(database, () => {
      const seqs = new Set<number>();
      for (const source of sources) {
        const found = source(database, range, limit);
        if (found === null) return null;
        for (const seq of found) seqs.add(seq);
      }
      return newestOf([...seqs], range, limit);
    });
}

function newestOf(seqs: readonly number[], range: SeqRange, limit: number): readonly number[] {
  return seqs
    .filter((seq) => seq >= range.from && seq < range.before)
    .toSorted((a, b) => b - a)
    .slice(0, limit);
}

function seqsOf(rows: readonly unknown[]): number[] {
  return rows.map((row) => (row as { seq: number }).seq);
}
