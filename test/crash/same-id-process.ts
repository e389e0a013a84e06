// One of several processes on one file: node same-id-process.ts <file>
// Each line of its input is JSON: { id, at, times } with `at` in milliseconds since 1970. At that moment it takes as many
// deliveries of that id at once, and says in JSON how each was answered.
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';

const order = z.object({ id: z.string(), at: z.number(), times: z.number() });
await using inbox = sqliteInbox(process.argv[2] ?? '');
const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });

console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const { id, at, times } = order.parse(JSON.parse(line));
  const delivery = orderDelivery(id);
  await sleep(Math.max(0, at - Date.now() - 5));
  while (Date.now() < at); // to the millisecond
  const outcomes = await Promise.all(Array.from({ length: times }, () => receiver.receive(delivery)));
  console.log(JSON.stringify(outcomes.map(({ kind }) => kind)));
}
