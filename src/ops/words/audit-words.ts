import { LINES_LOOKED_AT } from '../../inbox/operator/audit.ts';
import { number } from './format.ts';

/** Why no line of the audit is shown. */
export function noneInWords({
  isFiltered,
  isFurther,
  next,
}: {
  readonly isFiltered: boolean;
  /** it goes on from a page before */
  readonly isFurther: boolean;
  /** where to go on */
  readonly next: number | null;
}): string {
  if (next !== null) return `No match among the ${number(LINES_LOOKED_AT)} entries searched. Older entries exist.`;
  if (isFurther) return isFiltered ? 'No older entry matches the filter.' : 'No older entries.';
  return isFiltered ? 'No entry matches the filter.' : 'No entries yet.';
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 24 * 60 * 60_000;

/** The span of a day such as `2026-01-31`, in UTC; `null` for what is none. */
export function spanOfDay(day: string): { readonly since: Date; readonly until: Date } | null {
  const since = new Date(DAY.test(day) ? `${day}T00:00:00Z` : Number.NaN);
  // The 31st of February would be a day of March.
  if (Number.isNaN(since.getTime()) || dayOf(since) !== day) return null;
  return { since, until: new Date(since.getTime() + DAY_MS) };
}

/** `2026-01-31`, in UTC. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** The day before that of a time. */
export function dayBefore(at: Date): string {
  return dayOf(new Date(at.getTime() - DAY_MS));
}
