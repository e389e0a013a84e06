import type { StatsOptions } from '../../ops/stats.ts';
import { age, number, timestamp } from '../../ops/words/format.ts';
import { LinkRow } from './list-query.tsx';
import { LONGEST_MS, readRange } from './read-range.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface Range extends Required<StatsOptions> {
  /** as in the URL */
  readonly name: string;
  /** how long it is */
  readonly label: string;
  readonly stepMs: number;
  /** whether it ends at the current time */
  readonly isLast: boolean;
  /** a text that cannot be read */
  readonly unread: string | null;
}

/** The inbox keeps counts older than a day per hour, so long ranges have steps of whole hours. */
const RANGES = [
  { name: '1h', label: '1 h', spanMs: HOUR_MS, stepMs: MINUTE_MS },
  { name: '24h', label: '24 h', spanMs: DAY_MS, stepMs: 30 * MINUTE_MS },
  { name: '7d', label: '7 d', spanMs: 7 * DAY_MS, stepMs: 3 * HOUR_MS },
  { name: '30d', label: '30 d', spanMs: 30 * DAY_MS, stepMs: 12 * HOUR_MS },
] as const;

type Named = (typeof RANGES)[number]['name'];

const FIELD = 'range';
const LONGEST_TEXT = 80;
const MINUTES_OF_A_DAY = 24 * 60;

/** @param usual - if the visitor chose no range, or typed a text that cannot be read */
export function rangeOf({ searchParams }: URL, now: Date, usual: Named = '24h'): Range {
  const text = searchParams.get(FIELD) ?? '';
  const named = RANGES.find(({ name }) => name === text);
  if (text === '' || named !== undefined) return lastRange(named?.name ?? usual, now);
  const zone = Number(searchParams.get('zone') ?? 0);
  const ahead = Math.abs(zone) <= MINUTES_OF_A_DAY ? zone * MINUTE_MS : 0;
  const read = readRange(text.slice(0, LONGEST_TEXT), now, ahead);
  if (read === null) return { ...lastRange(usual, now), unread: text.slice(0, LONGEST_TEXT) };
  const stepMs = stepFor(read.since.getTime(), read.until.getTime(), now.getTime());
  const since = Math.floor(read.since.getTime() / stepMs) * stepMs;
  const until = Math.ceil(read.until.getTime() / stepMs) * stepMs;
  return {
    name: text,
    label: age(until - since),
    since: new Date(since),
    until: new Date(until),
    steps: (until - since) / stepMs,
    stepMs,
    isLast: read.isLast,
    unread: null,
  };
}

/** The shortest range that begins before an instant. */
export function rangeBackTo(at: Date | null, now: Date): Named {
  const ms = at === null ? 0 : now.getTime() - at.getTime();
  return RANGES.find(({ spanMs }) => spanMs >= DAY_MS && spanMs >= ms)?.name ?? '30d';
}

/** Steps begin at round times, so the bars of the past do not change. */
export function lastRange(name: Named, now: Date): Range {
  const { label, spanMs, stepMs } = RANGES.find((one) => one.name === name) ?? RANGES[1];
  const end = (Math.floor(now.getTime() / stepMs) + 1) * stepMs;
  const steps = spanMs / stepMs;
  return {
    name,
    label,
    since: new Date(end - spanMs),
    until: new Date(end),
    steps,
    stepMs,
    isLast: true,
    unread: null,
  };
}

const STEPS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12, 24, 48, 7 * 24].map((hours) => hours * HOUR_MS),
];
const MOST_STEPS = 60;

function stepFor(since: number, until: number, now: number): number {
  const least = since < now - DAY_MS + HOUR_MS ? HOUR_MS : MINUTE_MS;
  return STEPS_MS.find((step) => step >= least && (until - since) / step <= MOST_STEPS) ?? 7 * DAY_MS;
}

/** `In the last 24 h`, or the two times. */
export function Within({ range }: { readonly range: Range }) {
  if (range.isLast) return <>In the last {range.label}</>;
  return (
    <>
      From <time datetime={range.since.toISOString()}>{timestamp(range.since)}</time> to{' '}
      <time datetime={range.until.toISOString()}>{timestamp(range.until)}</time>
    </>
  );
}

type Kept = Readonly<Record<string, string>>;

interface RangesParts {
  readonly current: Range;
  readonly kept?: Kept;
}

export function Ranges({ current, kept = {} }: RangesParts) {
  const links = RANGES.map(({ name, label }) => {
    return [rangeQuery(name, kept), label, current.unread === null && name === current.name] as const;
  });
  const typed = current.unread ?? (links.some(([, , isCurrent]) => isCurrent) ? '' : current.name);
  return (
    <div class="range" id="range">
      <LinkRow kind="ranges" label="Time range" links={links} />
      <form method="get">
        {Object.entries(kept).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        {/* The script fills in how many minutes the visitor's clock is ahead of UTC, if they chose local times. */}
        <input type="hidden" name="zone" value="" />
        <label class="muted" for="other-range">
          Other
        </label>
        <input
          type="text"
          id="other-range"
          name={FIELD}
          value={/[tz]\//i.test(typed) ? '' : typed}
          placeholder="14:00, yesterday 9-11"
          aria-label="Other time range"
          aria-invalid={current.unread === null ? undefined : 'true'}
          aria-describedby={current.unread === null ? undefined : 'unread'}
          maxlength={LONGEST_TEXT}
          autocomplete="off"
          spellcheck={false}
        />
        <button type="submit">Show</button>
      </form>
      {current.unread === null ? (
        <span class="muted" id="within">
          {!current.isLast && <Within range={current} />}
        </span>
      ) : (
        <p class="problem" id="unread" role="alert">
          This is not a time range. Type a time, a day or both, such as 14:00, 9-11, yesterday 9-11, 26 nov or 90m; at
          most {number(LONGEST_MS / DAY_MS)} days, and not in the future.
        </p>
      )}
    </div>
  );
}

export function rangeQuery(name: Range['name'], kept: Kept): string {
  const query = new URLSearchParams({ range: name });
  for (const [key, value] of Object.entries(kept)) query.set(key, value.toWellFormed());
  return `?${query.toString()}`;
}
