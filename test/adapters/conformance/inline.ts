import { expect } from 'vitest';
import { expectAccepted, expectDuplicate, expectError, BUSY, HANDLER_FAILED, TIMEOUT } from '../expected-answer.ts';
import type { HttpAdapterCase } from '../http-adapter-case.ts';
import { signedEvent } from '../../helpers/signed-event.ts';
import { send } from '../wire.ts';
import { expectStored, until } from './stored.ts';

const DEADLINE_MS = 1_000;

/** docs/handling.md */
export const inlineCases: readonly HttpAdapterCase[] = [
  {
    name: 'answers 503 TIMEOUT with Retry-After when a handler still runs at the deadline; the event is stored',
    setup: { handler: 'waits', deadlineMs: DEADLINE_MS },
    async run(served) {
      const event = signedEvent();
      const began = performance.now();

      const answer = await send(served.url, event);

      const waited = performance.now() - began;
      expectError(answer, TIMEOUT);
      expect(waited).toBeGreaterThan(DEADLINE_MS - 50);
      expect(waited).toBeLessThan(5_000);
      await expectStored(served, event);
    },
  },
  {
    name: 'lets a handler that has outlived the deadline end, and answers 200 afterwards without running it again',
    needs: ['code that outlives its answer'],
    setup: { handler: 'waits', deadlineMs: DEADLINE_MS },
    async run(served) {
      const event = signedEvent();
      expectError(await send(served.url, event), TIMEOUT);

      await served.heal();

      await expect.poll(() => served.events(), { timeout: 5_000 }).toMatchObject([{ state: 'processed' }]);
      expectDuplicate(await send(served.url, event), event);
      expect(await served.tally()).toMatchObject({ handlerRuns: 1 });
    },
  },
  {
    name: 'answers 409 BUSY with Retry-After to the same event while its handler runs',
    setup: { handler: 'waits' },
    async run(served) {
      const event = signedEvent();
      const first = send(served.url, event);
      await until(served, { handlerRuns: 1 });

      expectError(await send(served.url, event), BUSY);

      await served.heal();
      expectAccepted(await first, event);
      expect(await served.tally()).toMatchObject({ handlerRuns: 1 });
    },
  },
  {
    name: 'answers 409 BUSY with Retry-After to another event of an order whose handler runs, and stores it',
    setup: { handler: 'waits' },
    async run(served) {
      const [event, next] = [signedEvent(), signedEvent()];
      const first = send(served.url, event);
      await until(served, { handlerRuns: 1 });

      expectError(await send(served.url, next), BUSY);

      await served.heal();
      expectAccepted(await first, event);
      expectDuplicate(await send(served.url, next), next);
      expect(await served.events()).toMatchObject([{ state: 'processed' }, { state: 'processed' }]);
    },
  },
  {
    name: 'answers 200 once the handler has succeeded, and 200 as a duplicate without running it again',
    setup: { handler: 'succeeds' },
    async run(served) {
      const event = signedEvent();

      expectAccepted(await send(served.url, event), event);
      expect(await served.events()).toMatchObject([{ id: event.id, state: 'processed' }]);
      expectDuplicate(await send(served.url, event), event);

      expect(await served.tally()).toMatchObject({ handlerRuns: 1 });
    },
  },
  {
    name: 'answers 500 HANDLER_FAILED when the handler throws, says nothing of why, and runs it again when redelivered',
    setup: { handler: 'throws' },
    async run(served) {
      const event = signedEvent();

      const failed = await send(served.url, event);
      const again = await send(served.url, event);
      await served.heal();

      for (const answer of [failed, again]) {
        expectError(answer, HANDLER_FAILED);
        expect(answer.body).not.toContain('throws');
      }
      await expectStored(served, event);
      expectDuplicate(await send(served.url, event), event);
      expect(await served.tally()).toMatchObject({ handlerRuns: 3 });
      expect(await served.events()).toMatchObject([{ state: 'processed' }]);
    },
  },
  {
    name: 'runs the handler once for 64 deliveries of one event at once, and answers 200 or 409',
    setup: { handler: 'succeeds' },
    async run(served) {
      const event = signedEvent();

      const answers = await Promise.all(Array.from({ length: 64 }, () => send(served.url, event)));

      const others = answers.filter(({ status }) => status !== 200);
      for (const answer of others) expectError(answer, BUSY);
      expect(answers.filter(({ body }) => body.includes('"duplicate":false')).length).toBeLessThan(2);
      expect(others.length).toBeLessThan(64);
      expect(await served.tally()).toMatchObject({ deliveries: 64, handlerRuns: 1 });
    },
  },
  {
    name: 'does not run a handler for an event that is invalid',
    setup: { handler: 'succeeds' },
    async run(served) {
      const event = signedEvent({ data: { total: 'twelve' } });

      expectAccepted(await send(served.url, event), event);

      expect(await served.tally()).toMatchObject({ handlerRuns: 0 });
      expect(await served.events()).toMatchObject([{ state: 'dead', deadReason: 'invalid' }]);
    },
  },
];
