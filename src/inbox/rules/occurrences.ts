import type { Occurrences } from '../event.ts';

/** How often something happened, and when; all in milliseconds since 1970. */
export interface Times {
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** the last twenty times, oldest first */
  readonly recent: readonly number[];
}

const RECENT = 20;

/** Adds one time to those before; `null` for none. */
export function oneMore(before: Times | null, at: number): Times {
  if (before === null) return { count: 1, first: at, last: at, recent: [at] };
  const { count, first, recent } = before;
  return { count: count + 1, first, last: at, recent: [...recent, at].slice(-RECENT) };
}

/** As an inbox shows them. */
export function occurrencesOf(times: Times | null): Occurrences {
  if (times === null) return { count: 0, firstAt: null, lastAt: null, recent: [] };
  const { count, first, last, recent } = times;
  return { count, firstAt: new Date(first), lastAt: new Date(last), recent: recent.map((ms) => new Date(ms)) };
}
