import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { PermanentError } from '../../src/errors.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const SECRET = 'a secret that is never logged';
const line = z.looseObject({ level: z.number(), time: z.number(), msg: z.string() });

/** A receiver that logs through pino, whatever its level, and the lines it has written. */
function logging({ logErrors = true } = {}) {
  const written: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (text: string) => void written.push(text) });
  const inbox = sqliteInbox(scratchFile());
  const handlers = {
    'order.created': async () => {
      throw new PermanentError('do not log what the customer wrote');
    },
  };
  // pino's logger is taken as it is: the compiler checks that it fits.
  const receiver = createReceiver({ secret: SECRET, inbox, logger, handlers, logErrors });
  onTestFinished(async () => {
    await receiver.close();
    await inbox.close();
  });
  const deliver = (data: object | string, signature?: string) => {
    const body = Buffer.from(typeof data === 'string' ? data : JSON.stringify(data));
    return receiver.receive({ body, signature: signature ?? signBody(body, SECRET) });
  };
  return { receiver, inbox, deliver, written, lines: () => written.map((text) => line.parse(JSON.parse(text))) };
}

const order = (id: string, note: string) => ({
  id,
  type: 'order.created',
  created: '2026-01-01T00:00:00Z',
  data: { object: 'order', id: 'ord_1', note },
});

describe('pino as the logger', () => {
  it('is given facts that can be searched, a message that is always the same, and a level', async () => {
    const { deliver, lines } = logging();
    await deliver(order('evt_1', 'note'), '0'.repeat(64));
    expect(lines()).toMatchObject([
      { level: 40, msg: 'delivery rejected', reason: 'signature-mismatch', status: 401, suppressed: 0 },
    ]);
    expect(lines()[0]?.['requestId']).toEqual(expect.any(String));
  });

  it('writes one line for each thing, whatever a sender puts into an id', async () => {
    const { deliver, written, lines } = logging();
    const id = 'evt_"}\n{"level":60,"msg":"forged"}\u001b[2J';
    await deliver({ id, type: 'order.created' });
    // The other one reminds of start().
    expect(lines()).toMatchObject([{ level: 40, id, msg: 'the event was stored as dead(invalid)' }, { level: 40 }]);
    expect(written.every((text) => !/\p{Cc}/u.test(text.trimEnd()))).toBe(true);
  });

  it('never sees a body, a secret or a signature, nor what a handler threw with logErrors: false', async () => {
    const { receiver, inbox, deliver, written, lines } = logging({ logErrors: false });
    const signatures: string[] = [];
    const sent = async (data: object | string, forged?: string): Promise<void> => {
      const body = Buffer.from(typeof data === 'string' ? data : JSON.stringify(data));
      signatures.push(forged ?? signBody(body, SECRET));
      await deliver(data, forged);
    };
    await sent(order('evt_1', 'do not log me'));
    await sent(order('evt_1', 'do not log me either')); // a conflict
    await sent({ ...order('evt_2', 'do not log me'), created: 'do not log me' }); // invalid
    await sent('do not log me'); // no event
    await sent(order('evt_3', 'do not log me'), 'ab'.repeat(32));
    await sent(order('evt_4', 'do not log me'), 'do not log me');
    await receiver.start();
    await expect.poll(async () => (await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.state).toBe('dead');
    await receiver.close();
    await inbox.close();
    await sent(order('evt_5', 'do not log me')); // cannot be taken in

    const messages = lines().map(({ msg }) => msg);
    for (const expected of [
      'a redelivery has the same id but a different body; the first body is kept',
      'the event was stored as dead(invalid)',
      'delivery rejected',
      'event is dead; to see why, run the command in this log entry',
      'delivery not stored',
    ]) {
      expect(messages).toContain(expected);
    }
    const everything = written.join('');
    for (const secret of [SECRET, 'do not log', ...signatures]) expect(everything).not.toContain(secret);
  });
});
