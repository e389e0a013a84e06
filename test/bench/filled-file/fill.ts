// node fill.ts FILE COUNT: stores that many events through a receiver, as deliveries would, has them handled, and prints
// a line of JSON.
import Database from 'better-sqlite3';
import { createReceiver, signBody } from 'hookbox';
import { sqliteInbox } from 'hookbox/sqlite';
import { orderEvent } from '../load/order-event.ts';
import { secret } from '../load/signing-schemes.ts';

/** Deliveries at a time: enough for full groups, few enough to stay within the deadline. */
const WAVE = 2_000;

const [file = '', count = '0'] = process.argv.slice(2);
const inbox = sqliteInbox(file);
let handled = 0;
let allHandled = (): void => {};
const receiver = createReceiver({
  secret,
  inbox,
  handlers: {
    '*': () => {
      handled += 1;
      if (handled === stored) allHandled();
    },
  },
  processing: { concurrency: 500 },
});
await receiver.start();
let stored = 0;
while (stored < Number(count)) {
  const size = Math.min(WAVE, Number(count) - stored);
  stored += size;
  const waveHandled = new Promise<void>((resolve) => {
    allHandled = resolve;
  });
  const wave = Array.from({ length: size }, () => {
    const body = Buffer.from(orderEvent().body);
    return receiver.receive({ body, signature: signBody(body, secret) });
  });
  for (const outcome of await Promise.all(wave)) {
    if (outcome.kind !== 'stored') throw new Error(`A delivery was ${outcome.kind} instead of stored.`);
  }
  await waveHandled;
  if (stored % 50_000 === 0) process.stderr.write(`  ${stored} events stored and handled\n`);
}
await receiver.close();
await inbox.close();

const database = new Database(file);
const processed = database.prepare("SELECT count(*) FROM hookbox_events WHERE state = 'processed'").pluck().get();
database.close();
process.stdout.write(`${JSON.stringify({ processed })}\n`);
