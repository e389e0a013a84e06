// A process that takes deliveries while another one holds the lock of its database, and measures its own event loop:
//   node deliveries-under-lock.ts file|connection <file> thread|loop
// It says ready, waits for a line, sends deliveries for three seconds to a patient and to a hasty receiver, and says in
// JSON how each was answered, and the share of that time in which its event loop stood still.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createReceiver, type Receiver } from '../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';
import { watchStalls } from '../helpers/stall-watch.ts';

const LONGEST_STALL_MS = 100;
const [source, file = '', placement] = process.argv.slice(2);
const inbox = sqliteInbox(source === 'file' ? file : { database: new Database(file, { timeout: 20_000 }) }, {
  thread: placement === 'thread',
});
const receiver = (endpoint: string, deadlineMs: number) =>
  createReceiver({ secret: SECRET, inbox, endpoint, deadlineMs, logger: silent });
const receivers = { patient: receiver('patient', 9_000), hasty: receiver('hasty', 1_000) };

async function answer(to: Receiver, id: string) {
  const { status, headers } = await to.receive(orderDelivery(id));
  return { id, status, retryAfter: headers['Retry-After'] ?? null };
}

function answers(id: string) {
  return { patient: answer(receivers.patient, id), hasty: answer(receivers.hasty, id) };
}

for (let n = 0; n < 50; n += 1) await Promise.all(Object.values(answers(`warm_${n}`)));
console.log('ready');
await once(process.stdin, 'data');

const endWatch = watchStalls(LONGEST_STALL_MS);
const sent: ReturnType<typeof answers>[] = [];
for (let n = 0; n < 30; n += 1) {
  sent.push(answers(`evt_${n}`));
  await sleep(100);
}
const stalled = endWatch(); // the lock is still held: a slow disk after its release is another matter
const patient = await Promise.all(sent.map((both) => both.patient));
const hasty = await Promise.all(sent.map((both) => both.hasty));

const afterwards = await Promise.all(Object.values(answers('evt_after')));
console.log(JSON.stringify({ patient, hasty, afterwards, stalled }));
await inbox.close();
process.stdin.destroy();
