import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { ConfigurationError, isKnown, type VerifiedDelivery, type VerifierOptions } from '../../src/index.ts';
import { silent } from '../helpers/silent-logger.ts';
import { SECRET, signedEvent } from '../helpers/signed-event.ts';
import { expectRefused, UNAVAILABLE } from './expected-answer.ts';
import { REFUSED_DELIVERIES } from './rejected-deliveries.ts';
import type { Answer, RequestParts } from './wire.ts';

/** The application's code; its text is answered with 202. */
export type Next = (verified: Pick<VerifiedDelivery, 'event' | 'body'>) => string | Promise<string>;

export interface ServedVerifier extends AsyncDisposable {
  readonly send: (parts: RequestParts) => Promise<Answer>;
  /** What reached the caller of the verifier, or the app's error handler. */
  readonly thrown?: readonly unknown[];
}

/** The limits of `REFUSED_DELIVERIES`. */
export const VERIFYING: VerifierOptions = { secret: SECRET, maxBodyBytes: 1_000, logger: silent };

export function testVerifier(
  name: string,
  serve: (options: VerifierOptions, next: Next) => Promise<ServedVerifier>,
): void {
  describe(`webhookVerifier of ${name}`, () => {
    it('passes the typed event and the verified bytes on, once', async () => {
      const event = signedEvent({ note: 'é🥐' });
      const seen: unknown[] = [];
      const next = vi.fn<Next>(async ({ event: passed, body }) => {
        const total = isKnown(passed) && passed.type === 'order.created' ? passed.data.total : null;
        seen.push(total, Buffer.from(body));
        await delay(10);
        return passed.id ?? '';
      });
      await using served = await serve(VERIFYING, next);

      expect(await served.send(event)).toMatchObject({ status: 202, body: event.id });

      expect(seen).toEqual([12.5, Buffer.from(event.body)]);
      expect(next).toHaveBeenCalledOnce();
      expect(served.thrown ?? []).toEqual([]);
    });

    it('passes on duplicates, unknown types, and what fits no schema with type null and its issues', async () => {
      const passed: unknown[] = [];
      await using served = await serve(VERIFYING, ({ event }) => {
        passed.push([event.type, 'issues' in event ? event.issues : []]);
        return '';
      });
      const again = signedEvent();
      const invalid = signedEvent({ data: { total: 'x' } });

      for (const event of [again, again, signedEvent({ type: 'order.teleported' }), invalid]) {
        expect(await served.send(event)).toMatchObject({ status: 202 });
      }

      expect(passed).toEqual([
        ['order.created', []],
        ['order.created', []],
        ['order.teleported', []],
        [null, [{ path: 'data.total', message: expect.any(String) as unknown }]],
      ]);
    });

    it.each(REFUSED_DELIVERIES)('answers %s itself, and nothing is called', async (_, parts, expected) => {
      const next = vi.fn<Next>(() => 'reached');
      await using served = await serve(VERIFYING, next);

      expectRefused(await served.send(parts()), expected);

      expect(next).not.toHaveBeenCalled();
      expect(served.thrown ?? []).toEqual([]);
    });

    it('answers 503 while no secret is available, and nothing is called', async () => {
      const next = vi.fn<Next>(() => 'reached');
      const secret = (): Promise<string> => Promise.reject(new Error('the vault is sealed'));
      await using served = await serve({ ...VERIFYING, secret }, next);

      expectRefused(await served.send(signedEvent()), UNAVAILABLE);
      expect(next).not.toHaveBeenCalled();
    });

    it.each([undefined, '', 'undefined', 'null'])('refuses to be created with the secret %j', async (secret) => {
      await expect(serve({ secret }, () => '')).rejects.toThrow(ConfigurationError);
    });
  });
}

export const FAILING: readonly (readonly [how: string, fail: () => Promise<never>])[] = [
  [
    'throws',
    () => {
      throw new Error('no queue');
    },
  ],
  ['rejects', () => Promise.reject(new Error('no queue'))],
  ['rejects later', () => delay(20).then(() => Promise.reject(new Error('no queue')))],
];
