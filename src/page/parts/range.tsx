import type { StatsOptions } from '../../ops/stats.ts';
import { LinkRow } from './list-query.tsx';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface Range {
  readonly name: string;
  readonly label: string;
  readonly spanMs: number;
  /** counts older than a day are kept by the hour, so long spans take whole hours */
  readonly stepMs: number;
}

const HOUR: Range = { name: '1h', label: '1 h', spanMs: HOUR_MS, stepMs: MINUTE_MS };
const RANGES: readonly Range[] = [
  HOUR,
  { name: '24h', label: '24 h', spanMs: DAY_MS, stepMs: 30 * MINUTE_MS },
  { name: '7d', label: '7 d', spanMs: 7 * DAY_MS, stepMs: 3 * HOUR_MS },
  { name: '30d', label: '30 d', spanMs: 30 * DAY_MS, stepMs: 12 * HOUR_MS },
];

export function rangeOf(url: URL, usual = HOUR.name): Range {
  const chosen = url.searchParams.get('range') ?? usual;
  return RANGES.find(({ name }) => name === chosen) ?? HOUR;
}

/** Steps begin at round times, so the bars of the past stay as they are. */
export function stepsOf({ spanMs, stepMs }: Range, now: Date): Required<StatsOptions> {
  const end = (Math.floor(now.getTime() / stepMs) + 1) * stepMs;
  return { since: new Date(end - spanMs), until: new Date(end), steps: spanMs / stepMs };
}

type Kept = Readonly<Record<string, string>>;

export function Ranges({ current, kept = {} }: { readonly current: Range; readonly kept?: Kept }) {
  const links = RANGES.map(({ name, label }) => [rangeQuery(name, kept), label, name === current.name] as const);
  return <LinkRow kind="ranges" label="Time range" links={links} />;
}

export function rangeQuery(name: Range['name'], kept: Kept): string {
  const query = new URLSearchParams({ range: name });
  for (const [key, value] of Object.entries(kept)) query.set(key, value.toWellFormed());
  return `?${query.toString()}`;
}
