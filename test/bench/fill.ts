// node fill.ts FILE COUNT: stores that many events through a receiver, as deliveries would, and prints a line of JSON.
import { createReceiver, signBody } from 'hookbox';
import { sqliteInbox } from 'hookbox/sqlite';
import { orderEvent } from './order-event.ts';
import { secret } from './signing-schemes.ts';

/** Deliveries at a time: enough for full groups, few enough to stay within the deadline. */
const WAVE = 2_000;

const [file = '', count = '0'] = process.argv.slice(2);
const receiver = createReceiver({ secret, inbox: sqliteInbox(file) });
let stored = 0;
while (stored < Number(count)) {
  const wave = Array.from({ length: Math.min(WAVE, Number(count) - stored) }, () => {
    const body = Buffer.from(orderEvent().body);
    return receiver.receive({ body, signature: signBody(body, secret) });
  });
  for (const outcome of await Promise.all(wave)) {
    if (outcome.kind !== 'stored') throw new Error(`A delivery was ${outcome.kind} instead of stored.`);
  }
  stored += wave.length;
  if (stored % 100_000 === 0) process.stderr.write(`  ${stored} events stored\n`);
}
await receiver.close();
process.stdout.write(`${JSON.stringify({ stored })}\n`);
