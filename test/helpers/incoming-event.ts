import type { IncomingEvent } from '../../src/inbox/event.ts';

type Parts = Partial<Omit<IncomingEvent, 'body'>> & { readonly body?: Uint8Array | string };

/** A valid, verified event on its way into an inbox; a test names what matters to it. */
export function incoming({ body = '{}', ...parts }: Parts = {}): IncomingEvent {
  return {
    endpoint: 'default',
    id: 'evt_1',
    type: 'order.created',
    created: { ms: 1_767_225_600_000, ns: 0 },
    entity: 'order::ord_1',
    verified: true,
    valid: true,
    receivedAt: 1_767_225_601_000,
    ...parts,
    body: typeof body === 'string' ? Buffer.from(body) : body,
  };
}

/** An authentic event that fits no schema. */
export function invalidIncoming(parts: Parts = {}): IncomingEvent {
  return incoming({ type: null, created: null, entity: null, valid: false, ...parts });
}

/** As many different events as asked for: evt_0, evt_1, … */
export function severalIncoming(count: number, parts: Parts = {}): IncomingEvent[] {
  return Array.from({ length: count }, (_, n) => incoming({ id: `evt_${n}`, body: `{"n":${n}}`, ...parts }));
}

/** A deadline that no test reaches. */
export function later(): number {
  return performance.now() + 30_000;
}
