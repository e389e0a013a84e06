// A process under load that will be killed: node delivering-process.ts <file> <round> thread|loop
// It takes signed deliveries without a pause, some of them redeliveries, and writes each id to its output as soon as it
// was answered 200, in the same turn of the event loop: what has been written was acknowledged.
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';

// Who is killed keeps nothing of what Node has compiled for the next one, unless it does so now.
flushCompileCache();

const [file = '', round = '', placement] = process.argv.slice(2);
const receiver = createReceiver({
  secret: SECRET,
  inbox: sqliteInbox(file, { thread: placement === 'thread' }),
  logger: silent,
});
const CONNECTIONS = 32;
let sent = 0;

/** Every fifth delivery repeats one of this process's own, every seventh one of the round before. */
function nextId(): string {
  sent += 1;
  if (sent % 5 === 0) return `evt_${round}_${Math.max(1, sent - 7)}`;
  if (sent % 7 === 0) return `evt_${Number(round) - 1}_${sent}`;
  return `evt_${round}_${sent}`;
}

/** When Node starts a thread, it makes the pipe non-blocking. */
function say(line: string): void {
  for (;;) {
    try {
      writeSync(1, line);
      return;
    } catch (failure) {
      if ((failure as NodeJS.ErrnoException).code !== 'EAGAIN') throw failure;
    }
  }
}

async function connection(): Promise<void> {
  for (;;) {
    const id = nextId();
    const outcome = await receiver.receive(orderDelivery(id));
    if (outcome.status === 200) say(`${outcome.kind} ${id}\n`);
    else writeSync(2, `${outcome.kind} ${outcome.status} ${id}\n`);
  }
}

await Promise.all(Array.from({ length: CONNECTIONS }, connection));
