import type { Steps } from '../../rules/steps.ts';
import type { EventFilter } from '../filter.ts';

/** Events from one `seq` on and before another. */
export interface SeqRange {
  readonly from: number;
  readonly before: number;
}

/** In which order events are named: by when they were stored. */
export type SeqOrder = 'newest' | 'oldest';

/** Puts what several places have named into an order. */
export function inOrder(seqs: readonly number[], order: SeqOrder): readonly number[] {
  return seqs.toSorted(order === 'newest' ? (a, b) => b - a : (a, b) => a - b);
}

/** What tells when events were received, by their `seq`. */
export interface ReceivedTimes {
  /** of what is stored; 0 where nothing is */
  newestSeq(): Steps<number>;
  /** When the first events of a range were received, at most so many. */
  receivedIn(range: SeqRange, limit: number): Steps<readonly number[]>;
  /** Where imports have put events among others that were received at other times; `null` for nowhere. */
  disorder(): Steps<SeqRange | null>;
}

/** What notes where imports have done so. */
export interface Disorder extends Pick<ReceivedTimes, 'receivedIn'> {
  /** It reaches from the first import to the latest one. */
  noteDisorder(first: number, last: number): Steps<void>;
}

/**
 * Events are stored nearly in the order in which they were received, but for waiting, and for clocks that are set. So much
 * earlier or later than asked for they are looked at nevertheless.
 */
const MARGIN_MS = 60 * 60_000;
/** So many events in a row say what time it was: one with a wrong time does not mislead. */
const SAMPLE = 32;

/**
 * Where events that were received in a span of time can be, the newest first. Found by halving, as no index knows the
 * time: nothing is wrong by more than the margin, unless a clock was. Where an import has mixed times nothing is skipped.
 *
 * @param page - where the page can be
 */
export function* rangesWithin(
  times: ReceivedTimes,
  { since, until }: Pick<EventFilter, 'since' | 'until'>,
  page: SeqRange,
): Steps<readonly SeqRange[]> {
  const all = { from: page.from, before: Math.min(page.before, (yield* times.newestSeq()) + 1) };
  if (since === undefined && until === undefined) return nonEmpty([all]);

  function* within({ from, before }: SeqRange): Steps<SeqRange> {
    const range = { from, before };
    return {
      from: since === undefined ? from : yield* firstSince(times, range, since.getTime() - MARGIN_MS),
      before: until === undefined ? before : yield* firstAllFrom(times, range, until.getTime() + MARGIN_MS),
    };
  }
  const disorder = yield* times.disorder();
  if (disorder === null) return nonEmpty([yield* within(all)]);
  return nonEmpty([
    yield* within({ from: Math.max(disorder.before, all.from), before: all.before }),
    { from: Math.max(disorder.from, all.from), before: Math.min(disorder.before, all.before) },
    yield* within({ from: all.from, before: Math.min(disorder.from, all.before) }),
  ]);
}

/** What is left of ranges beyond a `seq` that was looked at. */
export function rangesBeyond(ranges: readonly SeqRange[], seq: number, order: SeqOrder): readonly SeqRange[] {
  return nonEmpty(
    ranges.map(({ from, before }) =>
      order === 'newest' ? { from, before: Math.min(before, seq) } : { from: Math.max(from, seq + 1), before },
    ),
  );
}

/**
 * Notes where events are out of order, as imports and numbers that come late put them, so that no search by time skips them. It
 * belongs into the transaction that stores or indexes them.
 *
 * @param first - the `seq` of the first of them
 * @param last - and of the last one
 */
export function* noteOutOfOrder(times: Disorder, first: number, last: number): Steps<void> {
  const range = { from: first - SAMPLE, before: Number.MAX_SAFE_INTEGER };
  let latest = -Infinity;
  let fell = false;
  for (const received of yield* times.receivedIn(range, SAMPLE + last - first + 1 + SAMPLE)) {
    fell ||= received < latest - MARGIN_MS;
    latest = Math.max(latest, received);
  }
  if (fell) yield* times.noteDisorder(first, last);
}

function nonEmpty(ranges: readonly SeqRange[]): readonly SeqRange[] {
  return ranges.filter(({ from, before }) => from < before);
}

/** Where the first sample begins that has an event of this time or a later one. */
function firstSince(times: ReceivedTimes, range: SeqRange, time: number): Steps<number> {
  return halve(times, range, (received) => received.length === 0 || Math.max(...received) >= time);
}

/** Where the first sample begins that has only events of this time or later. */
function firstAllFrom(times: ReceivedTimes, range: SeqRange, time: number): Steps<number> {
  return halve(times, range, (received) => Math.min(...received) >= time);
}

/** The first `seq` of a range whose sample something holds for, if it holds for all behind that too; its end if for none. */
function* halve(
  times: ReceivedTimes,
  { from, before }: SeqRange,
  holds: (received: readonly number[]) => boolean,
): Steps<number> {
  let low = from;
  let high = before;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(yield* times.receivedIn({ from: middle, before }, SAMPLE))) high = middle;
    else low = middle + 1;
  }
  return low;
}
