import { ConfigurationError } from '../../errors.ts';
import type { EventFilter, SearchOrder, EventCount, EventSummary, FoundName } from '../../inbox/operator/search.ts';
import type { Wait } from '../../inbox/rules/waiting.ts';
import { countEvents, listEvents } from '../../ops/find.ts';
import {
  failedFirst,
  readText,
  suggestionsFor,
  type FindPlace,
  type Suggestion,
  type TextReading,
} from '../../ops/find-by-text.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { newestSeq } from '../../ops/stored-events.ts';
import { readFilter } from '../parts/filter-fields.ts';
import { readQueryLine } from '../parts/query-line.ts';
import { readListQuery, ROWS, type ListQuery } from '../parts/list-query.tsx';
import type { Visit } from '../visit.ts';

export interface Listing extends Pick<ListQuery, 'order' | 'isFurther' | 'isNoneYet'> {
  /** also the filter of an action on all */
  readonly filter: EventFilter;
  readonly reading: TextReading | null;
  readonly problems: readonly string[];
  readonly listed: Listed | null;
}

export interface Listed {
  readonly events: readonly EventSummary[];
  readonly waits: ReadonlyMap<number, Wait | null>;
  readonly next: FindPlace | number | null;
  readonly nextAt?: Date;
  readonly examined: number;
  readonly looked: number | null;
  readonly limit: number;
  readonly count: EventCount | null;
  readonly suggestions: readonly Suggestion[];
}

export async function findListing(visit: Visit): Promise<Listing> {
  const query = readListQuery(visit.url);
  const { order, isFurther, isNoneYet } = query;
  const { filter: read, problems } = readFilter(visit.url.searchParams, visit.now);
  const filter = visit.narrowed(read);
  const refused = visit.refusal(filter);
  const line = readQueryLine(query.text ?? '');
  const all = [...line.problems, ...problems, ...(refused === null ? [] : [refused])];
  const unlisted = { filter, order, isFurther, isNoneYet, reading: null, listed: null };
  if (all.length > 0) return { ...unlisted, problems: all };
  try {
    if (line.text !== null) return await byText(visit, query, line.text);
    const inOrder = order === 'failed' ? deadIn(filter) : filter;
    const listed = await byFilter(visit, query, inOrder);
    return { ...unlisted, filter: inOrder, problems: [], listed };
  } catch (failure) {
    // For example an invalid path in a body.
    if (failure instanceof ConfigurationError) return { ...unlisted, problems: [failure.message] };
    throw failure;
  }
}

/** The order by death excludes tombstones, and events that are not dead. */
function deadIn(filter: EventFilter): EventFilter {
  const { states = ['dead'], failedSince, failedUntil } = filter;
  const hasTime = failedSince !== undefined || failedUntil !== undefined;
  return {
    ...filter,
    states: states.filter((state) => state === 'dead'),
    ...(!hasTime && { failedSince: new Date(0) }),
  };
}

async function byFilter(visit: Visit, query: ListQuery, filter: EventFilter): Promise<Listed> {
  const { operated } = visit;
  const { order, before, beforeAt, limit } = query;
  const page = await listEvents(operated.inbox, filter, {
    before,
    limit,
    ...(order !== 'newest' && { order }),
    ...(beforeAt !== null && { beforeAt }),
  });
  const isCut = page.next !== null && page.events.length < limit;
  const [waits, looked, count] = await Promise.all([
    waitsOf(visit, page.events),
    isCut ? lookedAt(visit, order, page.next) : null,
    countOf(visit, query, filter, page),
  ]);
  return { ...page, limit, waits, looked, count, suggestions: [] };
}

async function byText(visit: Visit, query: ListQuery, text: string): Promise<Listing> {
  const { operated } = visit;
  const { limit, order, isFurther, isNoneYet } = query;
  const kinds = namesShown(visit);
  // A URL may name a merchant although this page masks merchants.
  const at = query.at?.takenFor === 'merchant' && !kinds.includes('merchant') ? null : query.at;
  const reading = await readText(operated.inbox, text, { kinds, taken: at });
  const page = await failedFirst(operated.inbox, reading, { at, limit });
  const { next } = page;
  const isCut = next !== null && page.events.length < limit;
  const listed: Listed = {
    ...page,
    limit,
    waits: await waitsOf(visit, page.events),
    looked: isCut ? (next.among === 'others' ? await lookedAt(visit, 'newest', next.before) : 0) : null,
    count: await countOf(visit, query, reading.filter, page),
    suggestions: next === null && page.events.length === 0 ? await suggestionsFor(operated.inbox, text, kinds) : [],
  };
  return { filter: reading.filter, reading, order, isFurther, isNoneYet, problems: [], listed };
}

/** Beginnings of names must not reveal a masked value. */
export function namesShown({ refusal }: Visit): readonly FoundName['what'][] {
  const isMasked = refusal({ merchant: '' }) !== null;
  return isMasked ? ['id', 'entity'] : ['id', 'entity', 'merchant'];
}

async function lookedAt({ operated }: Visit, order: SearchOrder, seq: number | null): Promise<number | null> {
  if (order === 'failed') return null;
  const newest = Math.max(await newestSeq(operated.inbox), 1);
  if (seq === null) return 0;
  const share = order === 'newest' ? 1 - (seq - 1) / newest : seq / newest;
  return Math.min(Math.max(share, 0), 1);
}

async function waitsOf({ operated, now }: Visit, events: readonly EventSummary[]): Promise<Listed['waits']> {
  const pending = events.filter(({ state }) => state === 'pending');
  if (pending.length === 0) return new Map();
  const waits = await operationsOf(operated.inbox).waits(pending, now.getTime());
  return new Map(pending.map(({ seq }, n) => [seq, waits[n] ?? null]));
}

async function countOf(
  { operated, liveOnly }: Visit,
  { isFurther, limit }: ListQuery,
  filter: EventFilter,
  { events, next }: { readonly events: readonly EventSummary[]; readonly next: unknown },
): Promise<EventCount | null> {
  if (limit < ROWS || (liveOnly && isFurther)) return null;
  if (next === null && !isFurther) return { count: events.length, more: false, cut: false };
  // An update does not repeat a count that reads many events.
  if (liveOnly && (filter.text ?? filter.error ?? filter.body ?? filter.bodyText) !== undefined) return null;
  return countEvents(operated.inbox, filter);
}
