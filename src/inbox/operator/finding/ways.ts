import { ConfigurationError } from '../../../errors.ts';
import type { Steps } from '../../rules/steps.ts';
import type { SearchRequest } from '../search.ts';
import {
  candidatesFor,
  failureSpan,
  type Amounts,
  type Deaths,
  type Died,
  type FailureSpan,
  type Sources,
} from './candidates.ts';
import type { Conditions } from './conditions.ts';
import { rangesBeyond, rangesWithin, type ReceivedTimes } from './seq-ranges.ts';

/** What tells a search where to look. */
export interface WayTables extends Sources, ReceivedTimes, Deaths, Amounts {}

/** In which order a page goes through events, as far as it has gone. */
export interface Way {
  /** What comes next, at most so many. */
  next(tables: WayTables, limit: number): Steps<readonly number[]>;
  /** One of those was the last that was looked at. */
  goOn(seq: number): void;
  /** When the last one died, where that tells the place. */
  readonly at: number | null;
}

/** @throws ConfigurationError `INVALID_OPTION` for an order that there is not, and for half a place */
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
export function* wayFor(
  tables: WayTables,
  conditions: Conditions,
  { order = 'newest', before = null, beforeAt }: SearchRequest,
  indexed: number,
): Steps<Way> {
  if (order === 'failed') {
    const place = before === null || beforeAt === undefined ? null : { seq: before, settledMs: beforeAt.getTime() };
    return byDeath(failureSpan(conditions.filter) ?? { from: 0, before: Number.MAX_SAFE_INTEGER }, place);
  }
  const page =
    order === 'newest'
      ? { from: 1, before: before ?? Number.MAX_SAFE_INTEGER }
      : { from: (before ?? 0) + 1, before: Number.MAX_SAFE_INTEGER };
  let ranges = yield* rangesWithin(tables, conditions.filter, page);
  const candidates = yield* candidatesFor(tables, conditions, ranges, indexed);
  return {
    next: (now, limit) => candidates(now, ranges, limit, order),
    goOn(seq) {
      ranges = rangesBeyond(ranges, seq, order);
    },
    at: null,
  };
}

function byDeath(span: FailureSpan, begin: Died | null): Way {
  let place = begin;
  let named: readonly Died[] = [];
  return {
    *next(tables, limit) {
      named = yield* tables.diedBefore(span, place, limit);
      return named.map(({ seq }) => seq);
    },
    goOn(seq) {
      place = named.find((one) => one.seq === seq) ?? place;
    },
    get at() {
      return place?.settledMs ?? null;
    },
  };
}
