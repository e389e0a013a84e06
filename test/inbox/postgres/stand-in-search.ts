import { jsonText } from '../../../src/events/json-tokens.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { StoredEvent } from '../../../src/inbox/event.ts';
import type { EventFilter } from '../../../src/inbox/operator/filter.ts';
import type { EventSummary, Search } from '../../../src/inbox/operator/search.ts';
import type { Finding } from '../../../src/inbox/postgres/operator/operations.ts';
import { termsOf, type Term } from '../../../src/inbox/rules/search-words.ts';
import { namesIn } from '../../../src/inbox/sqlite/operator/search/body-names.ts';

type StandIn = Pick<Search, 'search' | 'summary' | 'indexNew'> &
  Omit<Finding, 'search'> & { readonly terms: () => string[] };

/** Finds events by reading all of them, for tests of what goes on from there. */
export function standInSearch(inbox: Inbox): StandIn {
  const index = new Map<number, ReadonlySet<Term>>();
  let indexed = 0;
  const namesOf = (body: Uint8Array | null) => namesIn(body === null ? null : jsonText(body));
  return {
    async search(filter, { before, limit = 50 }) {
      const all = (await everything(inbox)).toReversed().filter(({ seq }) => before == null || seq < before);
      const page = all.slice(0, limit);
      const events = page.filter((event) => fits(filter, event)).map(summaryOf);
      return { events, next: all.length > limit ? (page.at(-1)?.seq ?? null) : null, examined: page.length };
    },
    async summary(key) {
      const event = await inbox.get(key);
      return event && summaryOf(event);
    },
    async indexNew(limit, upTo) {
      const all = await everything(inbox);
      const last = upTo ?? all.at(-1)?.seq ?? 0;
      for (const { seq, entity, body } of all.filter(({ seq }) => seq > indexed).slice(0, limit)) {
        index.set(seq, termsOf(entity, namesOf(body)));
        indexed = seq;
      }
      return all.filter(({ seq }) => seq > indexed && seq <= last).length;
    },
    noteImported: async () => {},
    entities: {
      withTerm: async (_, term, behind, limit) =>
        Array.from(index, ([seq, terms]) => (terms.has(term) && seq > behind ? seq : 0))
          .filter((seq) => seq > 0)
          .slice(0, limit),
      hasTerm: async (_, { seq, entity }, term) =>
        index.get(seq)?.has(term) ??
        termsOf(entity, namesOf((await inbox.list({ after: seq - 1, limit: 1 }))[0]?.body ?? null)).has(term),
      forget: async (_, { seq }) => void index.delete(seq),
      namesIn: namesOf,
    },
    terms: () => [...index.values()].flatMap((terms) => [...terms]),
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
