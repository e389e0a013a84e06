import type { AnyInbox } from '../inbox/contract.ts';
import { type AuditFilter, type AuditPage, LINES_LOOKED_AT } from '../inbox/operator/audit.ts';
import { PAGE_LIMIT, type PageRequest } from '../inbox/operator/search.ts';
import { assertOptions, whole, orNull, type RulesFor } from '../option-rules.ts';
import { operationsOf } from './operations-of.ts';
import { number } from './words/format.ts';

const REQUEST: RulesFor<PageRequest & AuditFilter> = {
  before: orNull(whole(0)),
  limit: PAGE_LIMIT,
  actor: true,
  since: 'date',
  until: 'date',
};

/**
 * Lists operators' actions, newest first.
 *
 * @param request - `actor`: only this operator, by exact name. `since` and `until`: a time span. `limit`: 50 lines by
 * default. `before`: the `next` of the previous page. With a filter, hookbox examines at most 5,000 lines for each
 * page, so continue until `next` is `null`.
 * @throws ConfigurationError `INVALID_OPTION` for a limit that is not a whole number from 1 to 500, or an invalid name
 * or time
 * @example
 * ```ts
 * import { auditLines } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { lines } = await auditLines(inbox, { limit: 10, actor: 'ada', since: new Date('2026-01-31') });
 * for (const { at, actor, act, counts } of lines) console.log(at, actor, act, counts);
 * ```
 */
export async function auditLines(inbox: AnyInbox, request: PageRequest & AuditFilter = {}): Promise<AuditPage> {
  assertOptions('auditLines', request, REQUEST);
  return operationsOf(inbox).lines(request);
}

export function noneInWords({
  isFiltered,
  isFurther,
  next,
}: {
  readonly isFiltered: boolean;
  readonly isFurther: boolean;
  readonly next: number | null;
}): string {
  if (next !== null) return `No match among the ${number(LINES_LOOKED_AT)} entries searched. Older entries exist.`;
  if (isFurther) return isFiltered ? 'No older entry matches the filter.' : 'No older entries.';
  return isFiltered ? 'No entry matches the filter.' : 'No entries yet.';
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 24 * 60 * 60_000;

/** In UTC; `null` for a day that does not exist. */
export function spanOfDay(day: string): { readonly since: Date; readonly until: Date } | null {
  const since = new Date(DAY.test(day) ? `${day}T00:00:00Z` : Number.NaN);
  // Date reads 31 February as a day in March.
  if (Number.isNaN(since.getTime()) || dayOf(since) !== day) return null;
  return { since, until: new Date(since.getTime() + DAY_MS) };
}

export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

export function dayBefore(at: Date): string {
  return dayOf(new Date(at.getTime() - DAY_MS));
}
