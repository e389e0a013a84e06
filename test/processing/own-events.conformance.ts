import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { StandardSchema } from '../../src/events/standard-schema.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { rerun } from '../../src/ops/act-on-events.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { SECRET } from '../helpers/order-delivery.ts';
import { store } from '../helpers/order-event.ts';
import { EARNED, own, ownEvent } from '../helpers/own-events.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { rest } from '../helpers/virtual-clock.ts';
import { KEY, points, shopOver } from './own-events-shop.ts';

export function testOwnEvents(name: string, open: () => Inbox): void {
  const shop = (inbox = open()) => shopOver(inbox);

  describe(name, () => {
    it('own fields of one of the eleven are added to the known ones, which hookbox has checked', async () => {
      const { inbox, inTurn, start } = shop();
      await store(
        inbox,
        ownEvent('evt_1', { id: 'ord_1', total: 5, gift_note: 'hi', tip: 1 }, 'order.created'),
        ownEvent('evt_2', { id: 'ord_2', total: 'five', gift_note: 'hi' }, 'order.created'),
        ownEvent('evt_3', { id: 'ord_3', total: 5, gift_note: 7 }, 'order.created'),
        ownEvent('evt_4', { id: 'ord_4', total: 5, gift_note: 7 }, 'order.ready'),
      );
      await start({ 'order.created': z.object({ gift_note: z.string().transform((note) => note.toUpperCase()) }) });
      expect(inTurn().map(({ data }) => data)).toEqual([
        { id: 'ord_1', total: 5, gift_note: 'HI', tip: 1 },
        { id: 'ord_4', total: 5, gift_note: 7 },
      ]);
      expect((await inbox.list()).map(({ state, deadReason }) => deadReason ?? state)).toEqual([
        'processed',
        'invalid',
        'invalid',
        'processed',
      ]);
    });

    it('what does not fit is dead(invalid) after one attempt, and neither inbox nor log quotes it', async () => {
      const { inbox, clock, lines, given, start, states } = shop();
      await store(inbox, ownEvent('evt_1', { points: 'rosebud' }));
      await start({ [EARNED]: points });
      await clock.advance(3_000);
      expect(given).toEqual([]);
      expect(await states()).toEqual(['dead', 'invalid', 1]);
      const error = { name: 'InvalidEvent', message: 'data.points: invalid_type, expected number', stack: null };
      expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'failed', error }]);
      expect(lines).toMatchObject([{ level: 'error', facts: { id: 'evt_1', type: EARNED, reason: 'invalid' } }]);
      expect(JSON.stringify([lines, await inbox.attempts(KEY)])).not.toContain('rosebud');
    });

    it('a corrected schema helps: a rerun asks again, and so does a redelivery', async () => {
      const inbox = open();
      const before = shop(inbox);
      const [first, second] = [ownEvent('evt_1', { points: '5' }), ownEvent('evt_2', { points: '6' })];
      await store(inbox, first, second);
      const wrong = await before.start({ [EARNED]: points });
      await wrong.close();
      const after = shop(inbox);
      await after.start({ [EARNED]: z.object({ points: z.coerce.number() }) });
      expect(after.given).toEqual([]);
      expect(await rerun(inbox, KEY, { now: after.clock.now() })).toBe('rerun');
      await store(inbox, second);
      await rest();
      expect(after.inTurn().map(({ data }) => data)).toEqual([{ points: 5 }, { points: 6 }]);
      expect(await after.states()).toEqual(['processed', null, 2]);
    });

    it('in inline mode, what does not fit is answered 200 and stored, and what fits is handled before the answer', async () => {
      const { inbox, given, keep, lines, states, clock } = shop();
      const { logger } = recordedLog();
      const receiving = (schema: StandardSchema<unknown, unknown>) =>
        createReceiver({
          secret: SECRET,
          inbox,
          clock,
          logger,
          ...own({ [EARNED]: schema }, { [EARNED]: keep }),
          processing: { mode: 'inline' },
        });
      const { body } = ownEvent('evt_1', { points: '5' });
      const delivery = { body, signature: signBody(body, SECRET) };
      await using strict = receiving(points);
      expect(await strict.receive(delivery)).toMatchObject({ kind: 'stored', status: 200 });
      expect(await states()).toEqual(['dead', 'invalid', 1]);
      await using corrected = receiving(z.object({ points: z.coerce.number() }));
      expect(await corrected.receive(delivery)).toMatchObject({ kind: 'processed', status: 200 });
      expect(given).toMatchObject([{ data: { points: 5 } }]);
      expect(lines).toEqual([]);
    });
  });
}
