import { ConfigurationError } from '../../errors.ts';
import type { AuditFilter, AuditLine, AuditPage } from './audit.ts';
import { nameOf } from './author.ts';
import { LONGEST_TEXT } from './check-filter.ts';
import type { PageRequest } from './filter.ts';
import { pageBounds } from './page-bounds.ts';

/** So many lines of an audit are looked at for a page, as no index knows who did what when. */
export const LINES_LOOKED_AT = 5_000;

/** Which lines a page is of; times in milliseconds since 1970. */
export interface AuditBounds {
  readonly before: number;
  readonly limit: number;
  readonly actor: string | null;
  readonly since: number | null;
  readonly until: number | null;
  /** not every line fits, so there may be many that do not */
  readonly isFiltered: boolean;
}

/**
 * What a page of the audit is asked for, with what was left out filled in.
 *
 * @throws ConfigurationError `INVALID_OPTION` for a limit, an actor or a time that cannot be
 */
export function auditBounds(request: PageRequest & AuditFilter): AuditBounds {
  const { actor, since, until } = request;
  const name = actor === undefined ? null : typeof actor === 'string' ? nameOf(actor) : '';
  if (name === '' || (actor ?? '').length > LONGEST_TEXT) {
    throw new ConfigurationError('INVALID_OPTION', 'actor must be a non-empty name.');
  }
  const bounds = { actor: name, since: timeOf('since', since), until: timeOf('until', until) };
  return { ...pageBounds(request), ...bounds, isFiltered: Object.values(bounds).some((bound) => bound !== null) };
}

function timeOf(name: string, at: Date | undefined): number | null {
  if (at === undefined) return null;
  if (!(at instanceof Date) || Number.isNaN(at.getTime())) {
    throw new ConfigurationError('INVALID_OPTION', `${name} must be a valid Date.`);
  }
  return at.getTime();
}

/**
 * A page of what was found, one more than it takes where there are more.
 *
 * @param next - the first line that was not looked at; `null` where all were
 */
export function auditPage(found: readonly AuditLine[], limit: number, next: number | null): AuditPage {
  const lines = found.slice(0, limit);
  if (found.length > limit) return { lines, next: lines.at(-1)?.seq ?? null };
  // `before` leaves out the line that it names.
  return { lines, next: next === null ? null : next + 1 };
}
