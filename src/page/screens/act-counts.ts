import type { Act } from '../../inbox/operator/acts.ts';
import type { EventFilter, EventCount } from '../../inbox/operator/search.ts';
import { askedByFilter, mayBeDone, searchedFor, summaryAt } from '../../inbox/rules/acts.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import type { ActedOn } from '../../ops/words/act-words.ts';
import type { Visit } from '../visit.ts';
import type { Listing } from './listing.ts';

/** What an action on all that match would be done to, as its preview would find it now. */
export async function actedOn(act: Act, { filter, listed, isFurther }: Listing, visit: Visit): Promise<ActedOn> {
  const asked = askedByFilter(act, false, filter);
  if (listed !== null && listed.next === null && !isFurther) {
    const events = listed.events.filter((event) => mayBeDone(asked, summaryAt(event, visit.now)));
    const states = asked.states.filter((state) => events.some((event) => event.state === state));
    return { states, count: { count: events.length, more: false } };
  }
  const { states } = asked;
  if (states.length === 0) return { states, count: { count: 0, more: false } };
  // What is due by now is not retried now, and what was ignored or discarded is not rerun once its body is gone: no filter tells these apart.
  // And bodies are read for a list once, and not for each action.
  const isUntold = act === 'retry-now' || (act === 'rerun' && states.some((state) => state !== 'dead'));
  if (isUntold || filter.body !== undefined) return { states, count: null };
  const acted = withBodies(act, searchedFor(asked, filter));
  const counted = isSame(acted, filter) && listed !== null ? listed.count : null;
  // Of a long list only what an index knows: the page is not kept waiting for what a preview finds.
  const request = { examined: isShort(listed?.count ?? null) ? SHORT : 0 };
  const { count, more, cut } = counted ?? (await operationsOf(visit.operated.inbox).countFound(acted, request));
  return { states, count: cut ? null : { count, more } };
}

const SHORT = 500;

function isShort(count: EventCount | null): boolean {
  return count !== null && !count.more && !count.cut && count.count <= SHORT;
}

/** A dead event without a body is not rerun. A filter that asks when an event has failed, or of which group it is, finds none. */
function withBodies(act: Act, filter: EventFilter): EventFilter {
  const asksAlready = (filter.fingerprint ?? filter.failedSince ?? filter.failedUntil) !== undefined;
  return act === 'rerun' && !asksAlready ? { ...filter, failedSince: new Date(0) } : filter;
}

/** Whether the list is of just these: then it is counted already. */
function isSame(acted: EventFilter, filter: EventFilter): boolean {
  const { states = [], ...others } = acted;
  const { states: listed, ...rest } = filter;
  return listed?.length === states.length && Object.keys(others).length === Object.keys(rest).length;
}
