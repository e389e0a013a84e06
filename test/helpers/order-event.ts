import { readEvent } from '../../src/events/parse.ts';
import { entityOf } from '../../src/events/entity.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import { later } from './incoming-event.ts';
import { START } from './virtual-clock.ts';

export interface OrderEventParts {
  readonly order?: string;
  readonly merchant?: string;
  readonly type?: string;
  /** seconds after `START` */
  readonly createdAt?: number;
  readonly receivedAt?: number;
  readonly total?: number;
}

/** An event about an order, whose body a handler can be given. */
export function orderEvent(id: string, parts: OrderEventParts = {}): IncomingEvent {
  const { order = id, merchant, type = 'order.created', createdAt = 0, receivedAt = START, total = 42.5 } = parts;
  const created = new Date(START + createdAt * 1_000).toISOString();
  const body = Buffer.from(
    JSON.stringify({ id, type, created, data: { object: 'order', id: order, merchant_id: merchant, total } }),
  );
  const { parsed, facts } = readEvent(body);
  if (!parsed.ok || facts === null) throw new Error(`not an event: ${JSON.stringify(parsed.issues)}`);
  return {
    endpoint: 'default',
    id,
    body,
    ...facts,
    entity: entityOf(parsed.event),
    verified: true,
    valid: true,
    receivedAt,
  };
}

/** Stores events one after the other, as a receiver does. */
export async function store(inbox: Inbox, ...events: readonly IncomingEvent[]): Promise<void> {
  for (const event of events) await inbox.accept(event, later());
}

/** As many different events as asked for: evt_0, evt_1, … */
export function orderEvents(count: number, parts: (n: number) => OrderEventParts = () => ({})): IncomingEvent[] {
  return Array.from({ length: count }, (_, n) => orderEvent(`evt_${n}`, parts(n)));
}
