import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { createReceiver, type Receiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { Child } from '../helpers/child.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { SECRET } from '../helpers/order-delivery.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { silent } from '../helpers/silent-logger.ts';
import { testInline } from './inline.conformance.ts';

testInline('inline mode on a file', () => {
  const file = scratchFile();
  return { inbox: sqliteInbox(file), elsewhere: () => sqliteInbox(file) };
});

it('the deadline holds although the database is locked between the storing and the run; the event is run by a later delivery', async () => {
  const file = scratchFile();
  const inbox = sqliteInbox(file);
  onTestFinished(() => inbox.close());
  const receiving = (kept: Inbox, options: { readonly deadlineMs?: number } = {}): Receiver =>
    createReceiver({
      secret: SECRET,
      inbox: kept,
      logger: silent,
      ...options,
      handlers: { '*': handler },
      processing: { mode: 'inline' },
    });
  const { body } = orderEvent('evt_1');
  const delivery = { body, signature: signBody(body, SECRET) };
  const handler = vi.fn();
  const locking = Promise.withResolvers<Child>();
  // The test takes the lock at the only moment between two steps.
  const accept: Inbox['accept'] = async (event, deadline) => {
    const acceptance = await inbox.accept(event, deadline);
    const holder = new Child(new URL('../inbox/lock-holder.ts', import.meta.url), [file]);
    await holder.line();
    locking.resolve(holder);
    return acceptance;
  };
  await using receiver = receiving({ ...inbox, accept }, { deadlineMs: 1_500 });
  const from = performance.now();
  const receiving1 = receiver.receive(delivery);
  const holder = await locking.promise;
  const release = setTimeout(() => holder.say('enough'), 5_000);
  const finish = sleep(4_000).then(() => holder.finish());
  const outcome = await receiving1;
  expect(performance.now() - from).toBeLessThan(3_000);
  expect(outcome.status).toBe(503);
  await finish;
  clearTimeout(release);
  await using after = receiving(inbox);
  let kind = '';
  for (let n = 0; n < 100 && kind !== 'processed' && kind !== 'duplicate'; n += 1) {
    ({ kind } = await after.receive(delivery));
    await sleep(10);
  }
  expect(['processed', 'duplicate']).toContain(kind);
  expect(handler).toHaveBeenCalledTimes(1);
  expect((await inbox.attempts({ endpoint: 'default', id: 'evt_1' })).at(-1)?.outcome).toBe('processed');
});
