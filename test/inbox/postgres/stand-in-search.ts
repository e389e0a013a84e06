import type { Inbox } from '../../../src/inbox/contract.ts';
import type { StoredEvent } from '../../../src/inbox/event.ts';
import type { EventFilter } from '../../../src/inbox/operator/filter.ts';
import type { EventSummary, Search } from '../../../src/inbox/operator/search.ts';

/** Finds events by reading all of them, for tests of what goes on from there. */
export function standInSearch(inbox: Inbox): Pick<Search, 'search'> {
  return {
    async search(filter, { before, limit = 50 }) {
      const all = (await everything(inbox)).toReversed().filter(({ seq }) => before == null || seq < before);
      const page = all.slice(0, limit);
      const events = page.filter((event) => fits(filter, event)).map(summaryOf);
      return { events, next: all.length > limit ? (page.at(-1)?.seq ?? null) : null, examined: page.length };
    },
  };
}

async function everything(inbox: Inbox): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (;;) {
    const more = await inbox.list({ after: events.at(-1)?.seq ?? 0, limit: 1_000 });
    events.push(...more);
    if (more.length < 1_000) return events;
  }
}

function fits(filter: EventFilter, { state, type, id, entity, receivedAt }: StoredEvent): boolean {
  const { states, types, since, until } = filter;
  return (
    (states?.includes(state) ?? true) &&
    (types?.includes(type ?? '') ?? true) &&
    (filter.id === undefined || filter.id === id) &&
    (filter.entity === undefined || entity === filter.entity || entity?.endsWith(`:${filter.entity}`) === true) &&
    (since === undefined || receivedAt >= since) &&
    (until === undefined || receivedAt < until)
  );
}

function summaryOf({ seq, endpoint, id, type, entity, verified, state, deadReason, receivedAt, body }: StoredEvent) {
  const event = { seq, endpoint, id, type, entity, verified, state, deadReason, receivedAt, pruned: body === null };
  return event as EventSummary; // as much as is asked for
}
