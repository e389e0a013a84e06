import { ConfigurationError } from '../../../errors.ts';
import { putAwayStates, type EventState, type PutAwayState } from '../../event.ts';
import type { Term } from '../../rules/entity-terms.ts';
import type { EventFilter, FoundName, SearchRequest } from '../search.ts';
import type { Conditions } from './conditions.ts';
import {
  inOrder,
  nonEmpty,
  overlap,
  rangesBeyond,
  rangesWithin,
  type Extent,
  type ReceivedTimes,
  type SeqOrder,
  type SeqRange,
} from './seq-ranges.ts';

/** An index may list more events than the condition allows. */
export type Index =
  | { readonly of: 'everything' | 'retrying' | 'conflict' | 'redelivered' | 'superseded' }
  | { readonly of: 'term'; readonly term: Term }
  | { readonly of: 'ids'; readonly ids: readonly string[] }
  | { readonly of: 'group'; readonly fingerprint: string }
  | { readonly of: 'state'; readonly state: PutAwayState }
  | { readonly of: 'died'; readonly span: FailureSpan }
  | { readonly of: 'bulk'; readonly id: number }
  /** from one moment, because processors move events between states */
  | { readonly of: 'states'; readonly states: readonly EventState[]; readonly types: readonly string[] | undefined };

export interface IndexPart {
  readonly index: Index;
  readonly range: SeqRange;
}

export interface FailureSpan {
  readonly from: number;
  readonly before: number;
}

export interface Died {
  readonly seq: number;
  readonly settledMs: number;
}

type EventLists = readonly (readonly number[] | null)[];

export interface SearchTables extends ReceivedTimes {
  extent(): Extent | Promise<Extent>;
  /** `null` for a part with too many events to sort. */
  list(parts: readonly IndexPart[], limit: number, order: SeqOrder): EventLists | Promise<EventLists>;
  count(part: IndexPart, most: number): number | null | Promise<number | null>;
  /** The most recently dead first. */
  diedBefore(span: FailureSpan, place: Died | null, limit: number): readonly Died[] | Promise<readonly Died[]>;
  namesBeginning(kind: FoundName['what'], text: string, limit: number): readonly string[] | Promise<readonly string[]>;
}

type Source = readonly IndexPart[];

const END = Number.MAX_SAFE_INTEGER;
const EVERYTHING = sourceOf({ of: 'everything' });

function sourceOf(...indexes: readonly Index[]): Source {
  return indexes.map((index) => ({ index, range: { from: 0, before: END } }));
}

/** The first events of each source show which source is the most selective. */
const COMPARED = 500;

/**
 * The source whose first few hundred events reach back the furthest.
 *
 * @param ranges - the newest first
 * @param indexed - the terms of events up to this `seq` are in the index
 */
export async function narrowestSource(
  tables: SearchTables,
  conditions: Conditions,
  ranges: readonly SeqRange[],
  indexed: number,
): Promise<Source> {
  const compare = (source: Source) => listed(tables, source, ranges, COMPARED, 'newest');
  const sources = sourcesFor(conditions, indexed);
  const found = await Promise.all(sources.map(compare));
  const best = narrowest(found);
  // It has listed all its events.
  if (best !== null && (found[best]?.length ?? 0) < COMPARED) return sources[best] ?? EVERYTHING;
  const withAll = narrowest([...found, await compare(EVERYTHING)]);
  return sources[withAll ?? sources.length] ?? EVERYTHING;
}

/** The list that reaches back the furthest, or the shortest of several. */
export function narrowest(lists: EventLists): number | null {
  const reach = (seqs: readonly number[]): number => (seqs.length < COMPARED ? 0 : (seqs.at(-1) ?? 0));
  let best: { readonly at: number; readonly seqs: readonly number[] } | null = null;
  for (const [at, seqs] of lists.entries()) {
    if (seqs === null) continue;
    const further = best === null ? -1 : reach(seqs) - reach(best.seqs) || seqs.length - best.seqs.length;
    if (further < 0) best = { at, seqs };
  }
  return best?.at ?? null;
}

export async function listed(
  tables: Pick<SearchTables, 'list'>,
  source: Source,
  ranges: readonly SeqRange[],
  limit: number,
  order: SeqOrder,
): Promise<readonly number[] | null> {
  const parts = source.flatMap(({ index, range }) =>
    nonEmpty(ranges.map((each) => overlap(each, range))).map((part) => ({ index, range: part })),
  );
  const lists = await tables.list(parts, limit, order);
  const [first] = lists;
  if (lists.length === 1 && first !== undefined) return first;
  const seqs = new Set<number>();
  for (const list of lists) {
    if (list === null) return null;
    for (const seq of list) seqs.add(seq);
  }
  return inOrder([...seqs], order).slice(0, limit);
}

/** Each source lists all events that match. */
export function sourcesFor({ filter, terms }: Conditions, indexed: number): readonly Source[] {
  const { id, events, fingerprint, states, types, bulk } = filter;
  const sources: Source[] = terms.map((term) => [
    { index: { of: 'everything' }, range: { from: indexed + 1, before: END } },
    { index: { of: 'term', term }, range: { from: 0, before: indexed + 1 } },
  ]);
  const add = (...indexes: readonly Index[]): number => sources.push(sourceOf(...indexes));
  if (id !== undefined) add({ of: 'ids', ids: [id] });
  if (events !== undefined) add({ of: 'ids', ids: [...new Set(events.map((key) => key.id))] });
  const span = failureSpan(filter);
  if (span !== null) {
    add({ of: 'died', span }, { of: 'retrying' });
    add({ of: 'state', state: 'dead' }, { of: 'retrying' });
  }
  if (bulk !== undefined) add({ of: 'bulk', id: bulk });
  if (fingerprint !== undefined) add({ of: 'group', fingerprint });
  if (filter.deadReasons !== undefined) add({ of: 'state', state: 'dead' });
  if (filter.ignoredSince !== undefined) add({ of: 'state', state: 'ignored' });
  for (const flag of ['retrying', 'conflict', 'redelivered', 'superseded'] as const) {
    if (filter[flag] === true) add({ of: flag });
  }
  if (states !== undefined) add({ of: 'states', states: [...new Set(states)], types });
  return sources;
}

function failureSpan({ failedSince, failedUntil }: EventFilter): FailureSpan | null {
  if (failedSince === undefined && failedUntil === undefined) return null;
  return { from: failedSince?.getTime() ?? 0, before: failedUntil?.getTime() ?? END };
}

/** The part of an index that lists only matching events. */
export function exactPart(
  { filter, terms, text, error, body, bodyText, retryGroup }: Conditions,
  { newestSeq, indexed }: Pick<Extent, 'newestSeq' | 'indexed'>,
): IndexPart | null {
  if ([text, error, bodyText, retryGroup].some((one) => one !== null) || body.length > 0) return null;
  const range = { from: 1, before: newestSeq + 1 };
  const span = deathSpan(filter);
  if (span !== null) return { index: { of: 'died', span }, range };
  if (conditionsIn(filter) > 1) return null;
  const [term] = terms;
  // Events that are not indexed must be read.
  if (term !== undefined) return indexed < newestSeq ? null : { index: { of: 'term', term }, range };
  const index = exactIndex(filter);
  return index === null ? null : { index, range };
}

function conditionsIn(filter: EventFilter): number {
  return Object.values(filter).filter((value) => value !== undefined).length;
}

/** `null` if the filter has other conditions. */
function deathSpan(filter: EventFilter): FailureSpan | null {
  const { states, failedSince: _since, failedUntil: _until, ...others } = filter;
  const isOfDead = states?.every((state) => state === 'dead') === true && states.length > 0;
  return isOfDead && conditionsIn(others) === 0 ? failureSpan(filter) : null;
}

function exactIndex({ states, fingerprint, ...flags }: EventFilter): Index | null {
  if (states !== undefined) {
    // In other states, a processor may have moved the event.
    const isAtRest = states.every((state) => putAwayStates.some((each) => each === state));
    return isAtRest ? { of: 'states', states: [...new Set(states)], types: undefined } : null;
  }
  if (fingerprint !== undefined) return { of: 'group', fingerprint };
  if (conditionsIn(flags) === 0) return { of: 'everything' };
  const flag = (['retrying', 'conflict', 'redelivered'] as const).find((each) => flags[each] === true);
  return flag === undefined ? null : { of: flag };
}

interface Candidates {
  next(tables: SearchTables, limit: number): Promise<readonly number[]>;
  /** @param seq - the last event that was examined */
  continueAfter(seq: number): void;
  readonly at: number | null;
}

/** @throws ConfigurationError `INVALID_OPTION` for half a position */
export function assertOrder({ order = 'newest', before = null, beforeAt }: SearchRequest): void {
  const isPlace = order === 'failed' ? (before === null) === (beforeAt === undefined) : beforeAt === undefined;
  if (isPlace) return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    "The order 'failed' needs both before and beforeAt (next and nextAt of the previous page); no other order " +
      'accepts beforeAt.',
  );
}

export async function candidatesFor(
  tables: SearchTables,
  conditions: Conditions,
  { order = 'newest', before = null, beforeAt }: SearchRequest,
  extent: Extent,
): Promise<Candidates> {
  if (order === 'failed') {
    const place = before === null || beforeAt === undefined ? null : { seq: before, settledMs: beforeAt.getTime() };
    return byDeath(failureSpan(conditions.filter) ?? { from: 0, before: END }, place);
  }
  const page = order === 'newest' ? { from: 1, before: before ?? END } : { from: (before ?? 0) + 1, before: END };
  let ranges = await rangesWithin(tables, conditions.filter, page, extent);
  const source = await narrowestSource(tables, conditions, ranges, extent.indexed);
  return {
    async next(now, limit) {
      const found = await listed(now, source, ranges, limit, order);
      // The index may have grown too large to sort.
      return found ?? (await listed(now, EVERYTHING, ranges, limit, order)) ?? [];
    },
    continueAfter(seq) {
      ranges = rangesBeyond(ranges, seq, order);
    },
    at: null,
  };
}

function byDeath(span: FailureSpan, begin: Died | null): Candidates {
  let place = begin;
  let found: readonly Died[] = [];
  return {
    async next(tables, limit) {
      found = await tables.diedBefore(span, place, limit);
      return found.map(({ seq }) => seq);
    },
    continueAfter(seq) {
      place = found.find((one) => one.seq === seq) ?? place;
    },
    get at() {
      return place?.settledMs ?? null;
    },
  };
}
