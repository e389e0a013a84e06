import { afterAll, describe, expect, it } from 'vitest';
import fixtures from '../../fixtures/signatures.json' with { type: 'json' };
import { parseEvent } from '../../src/index.ts';
import { testHost } from '../adapters/conformance.ts';
import { expectRefused, INVALID_SIGNATURE } from '../adapters/expected-answer.ts';
import type { Lacks } from '../adapters/http-adapter-case.ts';
import { send } from '../adapters/wire.ts';
import { controlled, remoteHost, type RunningServer } from './remote-host.ts';
import type { Checked } from './vector-check.ts';
import { verifiedDelivery } from './verified-delivery.ts';

export interface RuntimeUnderTest {
  readonly start: () => Promise<RunningServer>;
  readonly adapter: 'hookbox/fetch' | 'hookbox/node';
  readonly lacks?: Lacks;
}

export function testRuntime(title: string, { start, adapter, lacks }: RuntimeUnderTest): void {
  describe(title, () => {
    let starting: Promise<RunningServer> | undefined;
    // In each test, so that a missing runtime makes each of them fail.
    const started = (): Promise<RunningServer> => (starting ??= start());
    afterAll(async () => {
      const server = await starting?.catch(() => null);
      await server?.[Symbol.asyncDispose]();
    });

    testHost(adapter, async () => remoteHost(await started(), adapter), lacks);

    describe(`webhookVerifier of ${adapter}`, () => {
      it('hands the event and the bytes that were verified to the merchant, whose answer is sent', async () => {
        const { origin } = await started();
        const { body, headers } = verifiedDelivery();

        const answer = await send(`${origin}/verifier`, { body, headers });

        expect(answer).toMatchObject({ status: 200 });
        expect(JSON.parse(answer.body)).toEqual({
          event: JSON.parse(Buffer.from(body).toString()) as unknown,
          body: Buffer.from(body).toString('base64'),
        });
      });

      it('answers a delivery that is not authentic itself', async () => {
        const { origin } = await started();

        const answer = await send(`${origin}/verifier`, { body: verifiedDelivery().body });

        expectRefused(answer, INVALID_SIGNATURE);
      });
    });

    it(`computes and verifies all ${fixtures.vectors.length} signature vectors, and parses their bodies as here`, async () => {
      const { origin } = await started();
      for (const vector of fixtures.vectors) {
        const checked = await controlled<Checked>(origin, 'check', vector);

        expect(checked.valid, vector.name).toBe(vector.valid);
        if (vector.valid) expect(checked.signatures, vector.name).toContain(vector.signature);
        const parsed: unknown = JSON.parse(JSON.stringify(parseEvent(Buffer.from(vector.body_base64, 'base64'))));
        expect(checked.parsed, vector.name).toEqual(parsed);
      }
    });
  });
}
