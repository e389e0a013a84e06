import { vi } from 'vitest';
import { entityOf } from '../../../src/events/entity.ts';
import { readEvent } from '../../../src/events/parse.ts';
import type { Inbox, Operations } from '../../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../../src/inbox/event.ts';
import type { Settlement } from '../../../src/inbox/work.ts';
import { later } from '../../helpers/incoming-event.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

export interface Sent {
  readonly at: number;
  readonly id: string;
  readonly type: string;
  readonly order: string;
}

export type Handling = (sent: Sent, attempt: number, now: number) => Settlement | null;

/**
 * Lets time pass in an inbox whose thread is the test's own: events come in, are counted in the minutes they came in, and
 * are handled a few seconds later.
 *
 * @param sent - in the order of their times
 * @param stepMs - how much time passes at once: what comes in meanwhile is counted at the end of it
 */
export async function passTime(inbox: Inbox, sent: readonly Sent[], stepMs: number, handling: Handling): Promise<void> {
  const byId = new Map(sent.map((event) => [event.id, event]));
  const steps = Map.groupBy(sent, ({ at }) => Math.ceil(at / stepMs) * stepMs);
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    for (const [end, events] of steps) {
      // The clock never says later than the last event, so that nothing lies in the future of whoever looks.
      const now = Math.min(end, sent.at(-1)?.at ?? end);
      vi.setSystemTime(now);
      await Promise.all(events.map((event) => inbox.accept(incomingOf(event), later())));
      await handleUntilDone(inbox, byId, handling, now);
    }
  } finally {
    vi.useRealTimers();
  }
}

async function handleUntilDone(
  inbox: Inbox,
  sent: ReadonlyMap<string, Sent>,
  handling: Handling,
  from: number,
): Promise<void> {
  if (handling(NOTHING, 1, from) === null) return;
  for (let now = from; ; now += SECOND) {
    const claimed = await inbox.claim({ endpoints: '*', types: '*', now, leaseMs: 15_000, ordered: true }, 500);
    if (claimed.length === 0) return;
    await Promise.all(
      claimed.map(async ({ id, attempt, lease }) => {
        const settlement = handling(sent.get(id) ?? NOTHING, attempt, now);
        if (settlement !== null) await inbox.settle(lease, settlement, now + 40);
      }),
    );
  }
}

const NOTHING: Sent = { at: 0, id: '', type: '', order: '' };

function incomingOf({ at, id, type, order }: Sent): IncomingEvent {
  const created = new Date(at - 900).toISOString();
  const customer = { email: `${order.replace('ord_', '')}@Mail.example` };
  const data = {
    object: 'order',
    id: order,
    merchant_id: 'mer_5tGk9QmXwL2RvC8e',
    total: 42.5,
    currency: 'EUR',
    customer,
  };
  const body = Buffer.from(JSON.stringify({ id, type, created, data }));
  const { parsed, facts } = readEvent(body);
  if (!parsed.ok || facts === null) throw new Error(`not an event: ${body.toString()}`);
  const entity = entityOf(parsed.event);
  return { endpoint: 'default', id, body, ...facts, entity, verified: true, valid: true, receivedAt: at };
}

export function operationsIn({ operations }: Inbox): Operations {
  if (operations === undefined) throw new Error('this inbox cannot be looked into');
  return operations;
}
