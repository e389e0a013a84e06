import type { Inbox } from '../inbox/contract.ts';
import { filterFault } from '../inbox/operator/check-filter.ts';
import type { EventFilter } from '../inbox/operator/filter.ts';
import type { EventSummary } from '../inbox/operator/search.ts';
import { retryPrintOf } from '../inbox/rules/retry-groups.ts';
import { operationsOf } from './operations-of.ts';

/** A page of a list asks for no more than it has rows. */
const MOST_ASKED = 50;

/** Where an error of a group may be found. */
export interface GroupPlace {
  readonly fingerprint: string;
  /** it is a group of events that are tried again */
  readonly retrying?: boolean;
  /** a bulk act on all of the group: its events are known for a week, however they stand by now */
  readonly bulk?: number;
}

/** An error of a group; `null` where none is there any more. */
export type GroupSamples = (place: GroupPlace) => Promise<EventSummary['lastError']>;

/** Finds what groups say that are known by their fingerprints: each group is looked for once, and 50 times in all. */
export function groupSamples(inbox: Inbox): GroupSamples {
  const known = new Map<string, Promise<EventSummary['lastError']>>();
  let asked = 0;

  async function newest(filter: EventFilter, fingerprint: string): Promise<EventSummary['lastError']> {
    // Audit lines hold what another version of hookbox has written.
    if (asked >= MOST_ASKED || filterFault(filter) !== null) return null;
    asked += 1;
    const { events } = await operationsOf(inbox).search(filter, { limit: 1 });
    const error = events[0]?.lastError ?? null;
    return error !== null && retryPrintOf(error) === fingerprint ? error : null;
  }

  async function find({ fingerprint, retrying = false, bulk }: GroupPlace): Promise<EventSummary['lastError']> {
    // What was rerun or discarded is in no group any more.
    const acted = bulk === undefined ? null : await newest({ bulk }, fingerprint);
    return acted ?? newest(retrying ? { retrying, fingerprint } : { states: ['dead'], fingerprint }, fingerprint);
  }

  return (place) => {
    const key = JSON.stringify(place);
    const found = known.get(key) ?? find(place);
    known.set(key, found);
    return found;
  };
}
