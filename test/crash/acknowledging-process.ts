// A process to look at from outside: node acknowledging-process.ts <file>
// It takes ten deliveries one after the other and writes each id to its output once it was answered 200.
import { writeSync } from 'node:fs';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createReceiver } from '../../src/receiver.ts';
import { orderDelivery, SECRET, silent } from '../inbox/order-delivery.ts';

await using inbox = sqliteInbox(process.argv[2] ?? '');
const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
for (let n = 0; n < 10; n += 1) {
  const { status } = await receiver.receive(orderDelivery(`evt_${n}`));
  writeSync(1, `answered ${status} evt_${n}\n`);
}
