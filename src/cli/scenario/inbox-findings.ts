import { setTimeout as delay } from 'node:timers/promises';
import type { Inbox, StoredEvent } from '../../inbox/inbox.ts';
import { PATIENCE_MS, type FoundEvent } from './receiver.ts';

const POLL_MS = 20;
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

/** Reads events until nothing is left to do for any of them, or patience is at its end. */
export async function whenSettled(read: () => Promise<readonly StoredEvent[]>): Promise<readonly StoredEvent[]> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const events = await read();
    const isOpen = events.some(({ state }) => state === 'pending' || state === 'processing');
    if (!isOpen || performance.now() > giveUpAt) return events;
    await delay(POLL_MS);
  }
}

/** What is known of a stored event, beside the effects of its handler. */
export async function foundEvent(inbox: Inbox, event: StoredEvent, effects: number | null): Promise<FoundEvent> {
  const attempts = await inbox.attempts(event);
  return {
    id: event.id,
    body: event.body,
    state: event.state,
    redeliveries: event.redeliveries.count,
    processed: attempts.filter(({ outcome }) => outcome === 'processed').length,
    effects,
  };
}
