import type { AnyInbox } from '../../src/inbox/contract.ts';
import type { EventFilter, SearchOrder, EventPage, Search } from '../../src/inbox/operator/search.ts';
import { listEvents } from '../../src/ops/find.ts';

export async function allPages(
  { search: find }: Pick<Search, 'search'>,
  filter: EventFilter,
  limit: number,
  order: SearchOrder = 'newest',
): Promise<readonly EventPage[]> {
  const pages: EventPage[] = [];
  let beforeAt: Date | undefined;
  for (let before: number | null | undefined; before !== null;) {
    const page = await find(filter, {
      limit,
      order,
      ...(before !== undefined && { before }),
      ...(beforeAt !== undefined && { beforeAt }),
    });
    pages.push(page);
    ({ next: before, nextAt: beforeAt } = page);
  }
  return pages;
}

export const idsOf = (pages: readonly EventPage[]): string[] =>
  pages.flatMap(({ events }) => events.map(({ id }) => id));

export async function found(inbox: AnyInbox, filter: EventFilter): Promise<string[]> {
  const { events } = await listEvents(inbox, filter);
  return events.map(({ id }) => id);
}
