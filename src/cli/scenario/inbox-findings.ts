import { delay, performance } from '../../host/real-timers.ts';
import type { Inbox } from '../../inbox/contract.ts';
import type { StoredEvent } from '../../inbox/event.ts';
import { PATIENCE_MS, type EventFinding } from './scenario-receiver.ts';

const POLL_MS = 20;
/** After so long it is worth a word. */
const QUIET_MS = 2_000;
const PAGE = 500;

/** All events of an inbox. */
export async function allEvents(inbox: Inbox): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (;;) {
    const after = events.at(-1)?.seq;
    const page = await inbox.list({ limit: PAGE, ...(after !== undefined && { after }) });
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}

/**
 * Reads events until nothing is left to do for any of them, or patience is at its end.
 *
 * @param isUntaken - whether no handler takes an event, so that waiting is of no use
 */
export async function whenSettled(
  read: () => Promise<readonly StoredEvent[]>,
  onWait: (count: number) => void,
  isUntaken: (event: StoredEvent) => boolean = () => false,
): Promise<readonly StoredEvent[]> {
  const startedAt = performance.now();
  let isQuiet = true;
  for (;;) {
    const events = await read();
    const open = events.filter((event) => ['pending', 'processing'].includes(event.state) && !isUntaken(event));
    const waited = performance.now() - startedAt;
    if (open.length === 0 || waited > PATIENCE_MS) return events;
    if (isQuiet && waited > QUIET_MS) {
      isQuiet = false;
      onWait(open.length);
    }
    await delay(POLL_MS);
  }
}

/** What is known of a stored event, beside the effects of its handler. */
export async function eventFinding(
  inbox: Inbox,
  event: StoredEvent,
  { effects = null, isUntaken = false }: { readonly effects?: number | null; readonly isUntaken?: boolean },
): Promise<EventFinding> {
  const attempts = await inbox.attempts(event);
  return {
    id: event.id,
    body: event.body,
    state: event.state,
    redeliveries: event.redeliveries.count,
    processed: attempts.filter(({ outcome }) => outcome === 'processed').length,
    effects,
    untakenType: isUntaken ? event.type : null,
  };
}
