import { expect } from 'vitest';
import { expectAccepted, expectError, UNAVAILABLE } from '../expected-answer.ts';
import type { HttpAdapterCase } from '../http-adapter-case.ts';
import type { Failure, InboxSetup } from '../receiver-setup.ts';
import { SECRET, signedEvent } from '../../helpers/signed-event.ts';
import { connect, requestBytes, requestHead, send } from '../wire.ts';
import { expectNothingStored, until } from './stored.ts';

const DEADLINE_MS = 400;

const FAULTS: readonly (readonly [what: string, reason: string, setup: Extract<InboxSetup, Failure>])[] = [
  ['overloaded', 'overloaded', { code: 'OVERLOADED', failsWith: 'too many wait' }],
  ['failing', 'inbox-failing', { code: 'FAILED', failsWith: 'the disk is full' }],
  ['closed', 'closing', { code: 'CLOSED', failsWith: 'the inbox is closed' }],
  ['past the deadline', 'deadline', { code: 'DEADLINE', failsWith: 'the deadline has passed' }],
  ['broken in a way nobody foresaw', 'internal', { code: 'UNFORESEEN', failsWith: 'x is not a function' }],
];

export const unavailableCases: readonly HttpAdapterCase[] = [
  {
    name: 'answers 503 at the deadline when the inbox hangs, and goes on to serve',
    setup: { deadlineMs: DEADLINE_MS, inbox: { hangs: true } },
    async run(served) {
      const event = signedEvent();
      const began = performance.now();

      const answer = await send(served.url, event);
      const waited = performance.now() - began;
      await served.heal();

      expectError(answer, UNAVAILABLE);
      expect(waited).toBeGreaterThan(DEADLINE_MS - 50);
      expect(waited).toBeLessThan(5_000);
      expectAccepted(await send(served.url, event), event);
    },
  },
  ...(FAULTS.map(([what, reason, inbox]) => ({
    name: `answers 503 UNAVAILABLE with Retry-After when the inbox is ${what}, and says why in the log only`,
    setup: { inbox },
    async run(served) {
      const answer = await send(served.url, signedEvent());

      expectError(answer, UNAVAILABLE);
      expect(answer.body).not.toContain(inbox.failsWith);
      expect(await served.log()).toMatchObject([
        { level: 'error', facts: { reason, status: 503, cause: inbox.failsWith } },
      ]);
    },
  })) satisfies HttpAdapterCase[]),
  {
    name: 'keeps the connection after a 503 that asks to try again',
    setup: { inbox: { code: 'FAILED', failsWith: 'the disk is full' } },
    async run(served) {
      await using connection = await connect(served.url);
      const event = signedEvent();

      await connection.write(requestBytes(served.url, event));
      const refused = await connection.answer();
      await served.heal();
      await connection.write(requestBytes(served.url, event));

      expectError(refused, UNAVAILABLE);
      expectAccepted(await connection.answer(), event);
    },
  },
  {
    name: 'answers 503, never 401, while no secret is to be had',
    setup: { secret: { failsWith: 'the vault is sealed' } },
    async run(served) {
      const answer = await send(served.url, signedEvent());

      expectError(answer, UNAVAILABLE);
      await expectNothingStored(served);
    },
  },
  {
    name: 'waits for a secret that is still being fetched',
    setup: { secret: { of: [SECRET], takesMs: 200 } },
    async run(served) {
      const event = signedEvent();

      expectAccepted(await send(served.url, event), event);
    },
  },
  {
    name: 'fetches the secret again when the client has gone whose delivery it was fetched for',
    setup: { deadlineMs: 1_000, secret: { of: [SECRET], takesMs: 300 } },
    async run(served) {
      await using connection = await connect(served.url);
      await connection.write(requestBytes(served.url, signedEvent()));
      await until(served, { deliveries: 1 });

      connection.abort();

      const statuses = expect.poll(async () => (await send(served.url, signedEvent())).status, { timeout: 8_000 });
      await statuses.toBe(200);
    },
  },
  {
    name: 'answers 503 once the receiver is closing',
    async run(served) {
      await served.closeReceiver();

      const answer = await send(served.url, signedEvent());

      expectError(answer, UNAVAILABLE);
      await expectNothingStored(served);
    },
  },
  {
    name: 'answers the delivery whose body still arrives before the receiver is closed',
    needs: ['bodies as they arrive'],
    async run(served) {
      const event = signedEvent();
      await using connection = await connect(served.url);
      await connection.write(requestHead(served.url, event));
      await connection.write(event.body.subarray(0, 10));
      await until(served, { deliveries: 1 });
      let closed = false;
      const closing = served.closeReceiver().then(() => {
        closed = true;
      });
      await expect.poll(async () => (await send(served.url, signedEvent())).status).toBe(503);
      const closedTooSoon = closed;

      await connection.write(event.body.subarray(10));

      expectAccepted(await connection.answer(), event);
      await closing;
      expect(closedTooSoon).toBe(false);
    },
  },
];
