import type { CountSpan } from '../../inbox/operator/counts.ts';

/** What usually comes at a time, going by the same time on earlier days. No rule here knows an inbox. */

export const HOUR_MS = 60 * 60_000;
export const DAY_MS = 24 * HOUR_MS;

/** How much was counted in each hour, by its beginning; milliseconds since 1970. */
export type HourCounts = ReadonlyMap<number, number>;

/** What was counted of earlier days, and since when anything was. */
export interface History {
  readonly hours: HourCounts;
  readonly begin: number;
}

/** The seven days before say what is usual at an hour, and the four weeks before what is usual on this day of the week. */
const DAYS = 7;
const WEEKS = [7, 14, 21, 28];

/** How many days ago a span may be compared with: it must not reach into itself, nor before anything was counted. */
export function comparedDays({ since, until }: CountSpan, begin: number): { daily: number[]; weekly: number[] } {
  const least = Math.max(1, Math.ceil((until - since) / DAY_MS));
  // An hour before it is looked at too.
  const isCounted = (days: number): boolean => since - days * DAY_MS - HOUR_MS >= begin;
  return {
    daily: Array.from({ length: DAYS }, (_, n) => least + n).filter(isCounted),
    weekly: WEEKS.filter((days) => days >= least && isCounted(days)),
  };
}

/** The hours of earlier days that say what is usual in a span. */
export function comparedSpans(span: CountSpan, begin: number): readonly CountSpan[] {
  const { daily, weekly } = comparedDays(span, begin);
  return [...new Set([...daily, ...weekly])].map((days) => ({
    since: hourOf(span.since - days * DAY_MS - HOUR_MS),
    until: hourOf(span.until - days * DAY_MS + HOUR_MS) + HOUR_MS,
  }));
}

export function hourOf(at: number): number {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
}

/**
 * How much usually comes in a span; `null` where there is no earlier day to go by. A day without deliveries, such as one of an
 * outage, changes nothing, as it goes by the middle of the days, once there are three of its day of the week: before, it may as
 * well be the day of rest. Of a day of the week on which less comes, such as Sunday, less is usual.
 */
export function usualIn(span: CountSpan, history: History): number | null {
  return middleOfDays(span, history, ({ since, until }) => countIn(history.hours, since, until));
}

/**
 * How much comes in a span at least, on a usual day: also when clocks went forward or back an hour since then, or the shop opens
 * later or closes earlier by so much.
 */
export function atLeastIn(span: CountSpan, history: History): number | null {
  return middleOfDays(span, history, ({ since, until }) => {
    const isLong = until - since > HOUR_MS;
    const count = (from: number, to: number): number => countIn(history.hours, from, to);
    return Math.min(
      count(since, until),
      count(isLong ? since : since - HOUR_MS, until - HOUR_MS),
      count(since + HOUR_MS, isLong ? until : until + HOUR_MS),
    );
  });
}

function middleOfDays(span: CountSpan, { begin }: History, countOn: (span: CountSpan) => number): number | null {
  const { daily, weekly } = comparedDays(span, begin);
  const ago = (days: number): number =>
    countOn({ since: span.since - days * DAY_MS, until: span.until - days * DAY_MS });
  const middles = [daily, weekly].flatMap((days) => lowerMiddle(days.map(ago)) ?? []);
  return middles.length === 0 ? null : Math.min(...middles);
}

function lowerMiddle(counts: readonly number[]): number | undefined {
  return counts.toSorted((one, other) => one - other)[Math.floor((counts.length - 1) / 2)];
}

/** As if what was counted in an hour had come evenly. */
function countIn(hours: HourCounts, since: number, until: number): number {
  let count = 0;
  for (let hour = hourOf(since); hour < until; hour += HOUR_MS) {
    const part = Math.min(until, hour + HOUR_MS) - Math.max(since, hour);
    count += ((hours.get(hour) ?? 0) * part) / HOUR_MS;
  }
  return count;
}
