import type { AnyInbox } from '../inbox/contract.ts';
import { filterFault, type EventFilter, type EventSummary } from '../inbox/operator/search.ts';
import { retryPrintOf } from '../inbox/rules/error-groups.ts';
import { operationsOf } from './operations-of.ts';

/** So often a screen looks for one. */
const MOST_ASKED = 50;

/** Where an error of a group may be found. */
export interface GroupPlace {
  readonly fingerprint: string;
  /** it is a group of events that are tried again */
  readonly retrying?: boolean;
  /** a bulk action on all of the group: its events are known for a week, however they stand by now */
  readonly bulk?: number;
}

/** An error of a group; `null` where none is there any more, `'unasked'` where it was not looked for, as others were. */
export type GroupSample = EventSummary['lastError'] | 'unasked';
export type GroupSamples = (place: GroupPlace) => Promise<GroupSample>;

/** Finds what groups say that are known by their fingerprints: each group is looked for once, and 50 times in all. */
export function groupSamples(inbox: AnyInbox): GroupSamples {
  const known = new Map<string, Promise<GroupSample>>();
  let asked = 0;

  async function newest(filter: EventFilter): Promise<EventSummary | 'unasked' | null> {
    // Audit lines hold what another version of hookbox has written.
    if (filterFault(filter) !== null) return null;
    if (asked >= MOST_ASKED) return 'unasked';
    asked += 1;
    const { events } = await operationsOf(inbox).search(filter, { limit: 1 });
    return events[0] ?? null;
  }

  /** The error that an event has of the group, or has had: it may have failed of something else since. */
  async function errorOf(event: EventSummary, fingerprint: string): Promise<GroupSample> {
    const isOfGroup = (error: EventSummary['lastError']) => error !== null && retryPrintOf(error) === fingerprint;
    if (isOfGroup(event.lastError)) return event.lastError;
    const attempts = await inbox.attempts(event);
    return attempts.find(({ error }) => isOfGroup(error))?.error ?? null;
  }

  async function find({ fingerprint, retrying = false, bulk }: GroupPlace): Promise<GroupSample> {
    const group: EventFilter = retrying ? { retrying, fingerprint } : { states: ['dead'], fingerprint };
    // What was rerun or discarded is in no group any more.
    for (const filter of [...(bulk === undefined ? [] : [{ bulk }]), group]) {
      const event = await newest(filter);
      const error = event === null || event === 'unasked' ? event : await errorOf(event, fingerprint);
      if (error !== null) return error;
    }
    return null;
  }

  return (place) => {
    const key = JSON.stringify(place);
    const found = known.get(key) ?? find(place);
    known.set(key, found);
    return found;
  };
}
