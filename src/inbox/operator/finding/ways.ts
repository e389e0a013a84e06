import { ConfigurationError } from '../../../errors.ts';
import type { SearchRequest } from '../search.ts';
import {
  EVERYTHING,
  failureSpan,
  listed,
  narrowestSource,
  type Died,
  type FailureSpan,
  type SearchTables,
} from './candidates.ts';
import type { Conditions } from './conditions.ts';
import { rangesBeyond, rangesWithin, type Extent } from './seq-ranges.ts';

/** In which order a page goes through events, as far as it has gone. */
export interface Way {
  /** The next events, at most so many. */
  next(tables: SearchTables, limit: number): Promise<readonly number[]>;
  /** One of those was the last that was looked at. */
  goOn(seq: number): void;
  /** When the last one died, in the order of deaths. */
  readonly at: number | null;
}

/** @throws ConfigurationError `INVALID_OPTION` for an unknown order, and for half a place */
export function assertOrder({ order = 'newest', before = null, beforeAt }: SearchRequest): void {
  if (order !== 'newest' && order !== 'oldest' && order !== 'failed') {
    throw new ConfigurationError('INVALID_OPTION', 'order must be newest, oldest or failed.');
  }
  const isPlace = order === 'failed' ? (before === null) === (beforeAt === undefined) : beforeAt === undefined;
  if (isPlace) return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    "The order 'failed' needs both before and beforeAt (next and nextAt of the previous page); no other order " +
      'accepts beforeAt.',
  );
}

/** The way through the events, from where the page begins. */
export async function wayFor(
  tables: SearchTables,
  conditions: Conditions,
  { order = 'newest', before = null, beforeAt }: SearchRequest,
  extent: Extent,
): Promise<Way> {
  if (order === 'failed') {
    const place = before === null || beforeAt === undefined ? null : { seq: before, settledMs: beforeAt.getTime() };
    return byDeath(failureSpan(conditions.filter) ?? { from: 0, before: Number.MAX_SAFE_INTEGER }, place);
  }
  const page =
    order === 'newest'
      ? { from: 1, before: before ?? Number.MAX_SAFE_INTEGER }
      : { from: (before ?? 0) + 1, before: Number.MAX_SAFE_INTEGER };
  let ranges = await rangesWithin(tables, conditions.filter, page, extent);
  const source = await narrowestSource(tables, conditions, ranges, extent.indexed);
  return {
    async next(now, limit) {
      const found = await listed(now, source, ranges, limit, order);
      // Since it was chosen, its index may have grown too large to be put in order.
      return found ?? (await listed(now, EVERYTHING, ranges, limit, order)) ?? [];
    },
    goOn(seq) {
      ranges = rangesBeyond(ranges, seq, order);
    },
    at: null,
  };
}

function byDeath(span: FailureSpan, begin: Died | null): Way {
  let place = begin;
  let found: readonly Died[] = [];
  return {
    async next(tables, limit) {
      found = await tables.diedBefore(span, place, limit);
      return found.map(({ seq }) => seq);
    },
    goOn(seq) {
      place = found.find((one) => one.seq === seq) ?? place;
    },
    get at() {
      return place?.settledMs ?? null;
    },
  };
}
