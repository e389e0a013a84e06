import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { InboxUnavailableError, type Inbox } from '../../../src/index.ts';
import { memoryInbox } from '../../../src/inbox/memory.ts';
import { expectAccepted, expectRefused } from '../expected-answer.ts';
import type { HttpAdapterCase } from '../http-adapter-case.ts';
import { SECRET, signedEvent, signedEventOfSize } from '../signed-event.ts';
import { connect, requestBytes, requestHead, send } from '../wire.ts';

/** An inbox with a fault in `accept`. */
function inboxThat(accept: Inbox['accept']): Inbox {
  return { ...memoryInbox(), accept };
}

const FAULTS: readonly (readonly [what: string, reason: string, failure: Error])[] = [
  ['overloaded', 'overloaded', new InboxUnavailableError('OVERLOADED', 'too many wait')],
  ['failing', 'inbox-failing', new InboxUnavailableError('FAILED', 'the disk is full')],
  ['closed', 'closing', new InboxUnavailableError('CLOSED', 'the inbox is closed')],
  ['past the deadline', 'deadline', new InboxUnavailableError('DEADLINE', 'the deadline has passed')],
  ['broken in a way nobody foresaw', 'internal', new TypeError('x is not a function')],
];

export const unavailableCases: readonly HttpAdapterCase[] = [
  ...(FAULTS.map(([what, reason, failure]) => ({
    name: `answers 503 UNAVAILABLE with Retry-After when the inbox is ${what}, and says why in the log only`,
    async run(open) {
      await using served = await open({ inbox: inboxThat(() => Promise.reject(failure)) });

      const answer = await send(served.url, signedEvent());

      expectRefused(answer, { status: 503, code: 'UNAVAILABLE', retryAfter: true, closes: reason === 'closing' });
      expect(answer.body).not.toContain(failure.message);
      expect(served.log).toMatchObject([{ level: 'error', facts: { reason, status: 503, cause: failure.message } }]);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'answers 503 at the deadline when the inbox hangs, and goes on to serve',
    async run(open) {
      let hangs = true;
      const healthy = memoryInbox();
      const accept: Inbox['accept'] = (...given) => (hangs ? new Promise(() => {}) : healthy.accept(...given));
      await using served = await open({ deadlineMs: 500, inbox: inboxThat(accept) });
      const event = signedEvent();
      const began = performance.now();

      const answer = await send(served.url, event);
      const waited = performance.now() - began;
      hangs = false;

      expectRefused(answer, { status: 503, code: 'UNAVAILABLE', retryAfter: true });
      expect(waited).toBeGreaterThan(450);
      expect(waited).toBeLessThan(3_000);
      expectAccepted(await send(served.url, event), { id: event.id, duplicate: false });
    },
  },
  {
    name: 'answers 503, never 401, while no secret is to be had',
    async run(open) {
      await using served = await open({ secret: () => Promise.reject(new Error('the vault is sealed')) });

      const answer = await send(served.url, signedEvent());

      expectRefused(answer, { status: 503, code: 'UNAVAILABLE', retryAfter: true });
      expect(await served.inbox.list()).toEqual([]);
    },
  },
  {
    name: 'waits for a secret that is still being fetched',
    async run(open) {
      await using served = await open({ secret: () => delay(200, SECRET) });
      const event = signedEvent();

      expectAccepted(await send(served.url, event), { id: event.id, duplicate: false });
    },
  },
  {
    name: 'answers 503 and closes the connection once the receiver is closing',
    async run(open) {
      await using served = await open();
      await served.receiver.close();

      const answer = await send(served.url, signedEvent());

      expectRefused(answer, { status: 503, code: 'UNAVAILABLE', retryAfter: true, closes: true });
      expect(await served.inbox.list()).toEqual([]);
    },
  },
  {
    name: 'lets a client that writes a whole body before it reads see the 503 of a receiver that is closing',
    async run(open) {
      await using served = await open();
      await served.receiver.close();
      await using connection = await connect(served.url);

      await connection.writeBeforeReading(requestBytes(served.url, signedEventOfSize(900_000)));

      expectRefused(await connection.answer(), { status: 503, code: 'UNAVAILABLE', retryAfter: true, closes: true });
    },
  },
  {
    name: 'answers the delivery under way before the receiver is closed',
    async run(open) {
      await using served = await open();
      const event = signedEvent();
      await using connection = await connect(served.url);
      await connection.write(requestHead(served.url, event));
      await connection.write(event.body.subarray(0, 10));
      await delay(50); // until the server has begun to read
      let closed = false;
      const closing = served.receiver.close().then(() => {
        closed = true;
      });
      await delay(50);
      const closedTooSoon = closed;

      await connection.write(event.body.subarray(10));

      expectAccepted(await connection.answer(), { id: event.id, duplicate: false });
      await closing;
      expect(closedTooSoon).toBe(false);
    },
  },
  {
    name: 'keeps the connection after a 503 that asks to try again',
    async run(open) {
      let failing = true;
      const healthy = memoryInbox();
      const accept: Inbox['accept'] = (...given) =>
        failing ? Promise.reject(new InboxUnavailableError('FAILED', 'the disk is full')) : healthy.accept(...given);
      await using served = await open({ inbox: inboxThat(accept) });
      await using connection = await connect(served.url);
      const event = signedEvent();

      await connection.write(requestBytes(served.url, event));
      const refused = await connection.answer();
      failing = false;
      await connection.write(requestBytes(served.url, event));

      expectRefused(refused, { status: 503, code: 'UNAVAILABLE', retryAfter: true });
      expectAccepted(await connection.answer(), { id: event.id, duplicate: false });
    },
  },
];
