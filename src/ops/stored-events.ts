import type { AnyInbox } from '../inbox/contract.ts';
import type { StoredEvent, EventState } from '../inbox/event.ts';

/** Which events are meant; all that is given has to fit. */
export interface StoredEventFilter {
  readonly endpoint?: string;
  /** one of these types */
  readonly types?: readonly string[];
  /** in one of these states */
  readonly states?: readonly EventState[];
  /** stored after the event with this `seq` */
  readonly after?: number;
  /** received then or later */
  readonly since?: Date;
  /** received before then */
  readonly until?: Date;
}

/** Small enough that a page of the largest bodies still fits into memory. */
const PAGE = 50;

/**
 * The stored events that fit, in the order of arrival, a page at a time. What is stored while they are read is not among
 * them.
 *
 * @param through - the `seq` of the last one to look at; the newest of now unless set
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

/** The `seq` of the newest event; 0 when there is none. */
export async function newestSeq(inbox: Pick<AnyInbox, 'list' | 'operations'>): Promise<number> {
  if (inbox.operations === undefined) return newestByHalving(inbox);
  const { events } = await inbox.operations.search({}, { limit: 1 });
  return events[0]?.seq ?? 0;
}

/** An inbox that cannot be looked into lists its events in the order of arrival alone. */
async function newestByHalving(inbox: Pick<AnyInbox, 'list'>): Promise<number> {
  const after = async (seq: number): Promise<number | null> =>
    (await inbox.list({ after: seq, limit: 1 }))[0]?.seq ?? null;

  let newest = 0;
  let bound: number | null = null;
  for (let step = 1; bound === null; step *= 2) {
    const found = await after(newest + step - 1);
    if (found === null) bound = newest + step - 1;
    else newest = found;
  }
  while (newest < bound) {
    const middle = Math.floor((newest + bound) / 2);
    const found = await after(middle);
    if (found === null) bound = middle;
    else newest = found;
  }
  return newest;
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
