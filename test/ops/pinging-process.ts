// A process that asks whether its inbox is ready: node pinging-process.ts <file>, under a limit on the size of files.
// For each line of its input it takes as many deliveries as the line says, or until ten in a row are refused (after one
// alone the file is opened afresh, which makes room), and answers with a line of JSON: how many were stored, how many were
// refused last, and what the inbox says of itself then.
import { createInterface } from 'node:readline';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { readiness } from '../../src/ops/health.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';

await using inbox = sqliteInbox(process.argv[2] ?? '');
const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
let sent = 0;

console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  let [stored, refused] = [0, 0];
  for (let n = 0; n < Number(line) && refused < 10; n += 1) {
    sent += 1;
    const { status } = await receiver.receive(orderDelivery(`evt_${sent}`));
    refused = status === 200 ? 0 : refused + 1;
    if (status === 200) stored += 1;
  }
  console.log(JSON.stringify({ stored, refused, readiness: await readiness(inbox) }));
}
