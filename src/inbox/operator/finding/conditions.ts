import type { EventKey } from '../../event.ts';
import { retryGroupOf } from '../../rules/retry-groups.ts';
import type { Term } from '../../rules/search-words.ts';
import type { EventFilter } from '../filter.ts';
import { bodyPath, type BodyStep } from '../body-path.ts';
import type { Clock } from '../sql.ts';

/** A filter, read once for a page. */
export interface Conditions {
  /** without the fingerprint where that is of a group of retries */
  readonly filter: EventFilter;
  /** of a group of retries */
  readonly retryGroup: string | null;
  /** two at most */
  readonly terms: readonly Term[];
  /** in lower case */
  readonly error: string | null;
  /** in lower case */
  readonly text: string | null;
  /** the keys of events, as `keyText` writes them */
  readonly keys: ReadonlySet<string> | null;
  readonly body: readonly { readonly steps: readonly BodyStep[]; readonly value: string }[];
}

/** A key as one text. */
export function keyText({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}

export function conditionsOf(filter: EventFilter): Conditions {
  const terms: Term[] = [];
  if (filter.entity !== undefined) terms.push(`entity ${filter.entity}`);
  if (filter.merchant !== undefined) terms.push(`merchant ${filter.merchant}`);
  const retryGroup = retryGroupOf(filter);
  const { fingerprint: _, ...others } = filter;
  return {
    filter: retryGroup === null ? filter : others,
    retryGroup,
    terms,
    error: filter.error?.toLowerCase() ?? null,
    text: filter.text?.toLowerCase() ?? null,
    keys: filter.events === undefined ? null : new Set(filter.events.map(keyText)),
    body: (filter.body ?? []).map(({ path, value }) => ({ steps: bodyPath(path), value })),
  };
}

/** Events have the times of the database. */
export function inDatabaseTime({ filter, ...others }: Conditions, { toDatabase }: Clock): Conditions {
  const at = (date: Date): Date => new Date(toDatabase(date.getTime()));
  const { since, until, failedSince, failedUntil, ignoredSince } = filter;
  const times = {
    ...(since !== undefined && { since: at(since) }),
    ...(until !== undefined && { until: at(until) }),
    ...(failedSince !== undefined && { failedSince: at(failedSince) }),
    ...(failedUntil !== undefined && { failedUntil: at(failedUntil) }),
    ...(ignoredSince !== undefined && { ignoredSince: at(ignoredSince) }),
  };
  return { ...others, filter: { ...filter, ...times } };
}
