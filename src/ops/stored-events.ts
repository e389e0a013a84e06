import type { AnyInbox } from '../inbox/contract.ts';
import { operationsOf } from './operations-of.ts';
import type { StoredEvent, EventState } from '../inbox/event.ts';

export interface StoredEventFilter {
  readonly endpoint?: string;
  readonly types?: readonly string[];
  readonly states?: readonly EventState[];
  /** stored after the event with this `seq` */
  readonly after?: number;
  readonly since?: Date;
  readonly until?: Date;
}

/** A page of the largest bodies still fits into memory. */
const PAGE = 50;

/**
 * In order of arrival, without events that arrive later.
 *
 * @param through - the `seq` of the last event; by default that of the newest
 */
export async function* storedEvents(
  inbox: Pick<AnyInbox, 'list' | 'operations'>,
  filter: StoredEventFilter = {},
  through?: number,
): AsyncGenerator<StoredEvent, void> {
  const last = through ?? (await newestSeq(inbox));
  let after = filter.after ?? 0;
  while (after < last) {
    const page = await inbox.list({ after, limit: PAGE });
    if (page.length === 0) return;
    for (const event of page) {
      if (event.seq > last) return;
      if (fits(event, filter)) yield event;
      after = event.seq;
    }
  }
}

/** 0 without events. */
export async function newestSeq(inbox: Pick<AnyInbox, 'operations'>): Promise<number> {
  const { events } = await operationsOf(inbox).search({}, { limit: 1 });
  return events[0]?.seq ?? 0;
}

function fits(event: StoredEvent, { endpoint, types, states, since, until }: StoredEventFilter): boolean {
  return (
    (endpoint === undefined || event.endpoint === endpoint) &&
    (types === undefined || types.includes(event.type ?? '')) &&
    (states === undefined || states.includes(event.state)) &&
    (since === undefined || event.receivedAt >= since) &&
    (until === undefined || event.receivedAt < until)
  );
}
