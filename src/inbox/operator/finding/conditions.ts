import type { Term } from '../../rules/search-words.ts';
import type { EventFilter } from '../filter.ts';
import { payloadPath, type PayloadStep } from '../payload-path.ts';

/** A filter, read once for a page. */
export interface Conditions {
  readonly filter: EventFilter;
  /** two at most */
  readonly terms: readonly Term[];
  /** in lower case */
  readonly error: string | null;
  readonly payload: readonly { readonly steps: readonly PayloadStep[]; readonly value: string }[];
}

export function conditionsOf(filter: EventFilter): Conditions {
  const terms: Term[] = [];
  if (filter.entity !== undefined) terms.push(`entity ${filter.entity}`);
  if (filter.merchant !== undefined) terms.push(`merchant ${filter.merchant}`);
  return {
    filter,
    terms,
    error: filter.error?.toLowerCase() ?? null,
    payload: (filter.payload ?? []).map(({ path, value }) => ({ steps: payloadPath(path), value })),
  };
}
