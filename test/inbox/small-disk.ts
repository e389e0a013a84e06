// A process on a disk that soon takes no more: node small-disk.ts <file> thread|loop [prefix of ids], under a limit on the size of files.
// Each line of its input is a number of deliveries to take, one after the other; it answers with a line of JSON, the
// ids that were answered 200 and those that were not.
import { createInterface } from 'node:readline';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';

const [file = '', placement, prefix = 'evt'] = process.argv.slice(2);
await using inbox = sqliteInbox(file, { thread: placement === 'thread', logger: silent });
const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
let sent = 0;

console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const report: { stored: string[]; refused: string[] } = { stored: [], refused: [] };
  for (let n = 0; n < Number(line); n += 1) {
    sent += 1;
    const id = `${prefix}_${sent}`;
    const outcome = await receiver.receive(orderDelivery(id));
    (outcome.status === 200 ? report.stored : report.refused).push(id);
  }
  console.log(JSON.stringify(report));
}
