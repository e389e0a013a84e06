/** Over HTTP/2, a request has a stream of its own. */
import { describe, expect, it } from 'vitest';
import { createReceiver, type Receiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { silent } from '../helpers/silent-logger.ts';
import { SECRET, signedEvent, signedEventOfSize, WELL_FORMED } from '../helpers/signed-event.ts';
import { expectAccepted, expectDuplicate, expectRefused } from './expected-answer.ts';
import { REFUSED_DELIVERIES } from './rejected-deliveries.ts';
import { warningsDuring, type Http2Client } from './served-node.ts';

export function testHttp2(name: string, serve: (receiver: Receiver) => Promise<Http2Client>): void {
  const served = (): Promise<Http2Client> =>
    serve(
      createReceiver({ secret: SECRET, inbox: memoryInbox(), logger: silent, maxBodyBytes: 1_000, deadlineMs: 500 }),
    );

  describe(`${name} over HTTP/2`, () => {
    // The first case, because Node emits this warning once.
    it('says nothing of the connection, which is not its own, and no warning is given', async () => {
      await using client = await served();

      const warnings = await warningsDuring(async () => {
        expectRefused(await client.send(signedEventOfSize(1_001)), { status: 413, code: 'BODY_TOO_LARGE' });
      });

      expect(warnings).toEqual([]);
    });

    it('stores a delivery and knows its duplicate', async () => {
      await using client = await served();
      const event = signedEvent();

      expectAccepted(await client.send(event), event);
      expectDuplicate(await client.send(event), event);
    });

    it.each(REFUSED_DELIVERIES)('refuses %s, and takes the next one', async (_, parts, expected) => {
      await using client = await served();
      const event = signedEvent();

      expectRefused(await client.send(parts()), { ...expected, closes: false });
      expectAccepted(await client.send(event), event);
    });

    it.each([
      ['over the limit', 413, 2_000, { headers: [WELL_FORMED] }],
      ['without a signature', 401, 2_000, {}],
      ['sent with PUT', 405, 2_000, { method: 'PUT' }],
      ['that stops', 503, 10, { headers: [WELL_FORMED] }],
    ] as const)('answers a body that never ends, %s, with %i, and the next one', async (_, status, bytes, parts) => {
      await using client = await served();
      const event = signedEvent();
      const began = performance.now();

      expect(await client.send({ body: Buffer.alloc(bytes), unended: true, ...parts })).toMatchObject({ status });

      if (status === 503) expect(performance.now() - began).toBeGreaterThan(450);
      expectAccepted(await client.send(event), event);
    });
  });
}
