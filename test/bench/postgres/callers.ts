import { orderEvent } from '../load/order-event.ts';
import type { IncomingEvent } from '../../../src/inbox/event.ts';

/** Several at once, each with the next piece of work when its last one is done, until there is none. */
export async function callers(count: number, work: (caller: number) => Promise<boolean>): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async (_, caller) => {
      while (await work(caller));
    }),
  );
}

/** An event as a receiver hands it to its inbox. */
export function arriving(order: string, createdMs: number): IncomingEvent {
  const { id, body } = orderEvent();
  return {
    endpoint: 'default',
    id,
    body: Buffer.from(body),
    type: 'order.created',
    created: { ms: createdMs, ns: 0 },
    entity: `order::${order}`,
    verified: true,
    valid: true,
    receivedAt: Date.now(),
  };
}
