// A server on a machine where SQLite can make no temporary file: node without-temporary-files.ts <file> <source>, where the
// source is thread, loop, or a connection of the merchant's. It takes 200 deliveries at once and handles each with a
// transaction that changes many pages, and answers with a line of JSON.
import Database from 'better-sqlite3';
import { setTimeout as delay } from 'node:timers/promises';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { messageOf } from '../../src/errors.ts';
import { backup, exportEvents, readiness } from '../../src/ops/index.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { recordedLog } from '../helpers/recorded-log.ts';

const COUNT = 200;
const [file = '', source = ''] = process.argv.slice(2);
const log = recordedLog();
const merchants = new Database(file);
merchants.exec('CREATE TABLE shop (id INTEGER PRIMARY KEY, body BLOB) STRICT');
merchants.prepare('INSERT INTO shop VALUES (1, zeroblob(200000))').run();
if (source.includes('in memory')) merchants.pragma('temp_store = MEMORY');
const isMerchants = source.startsWith('merchant');
if (!isMerchants) merchants.close();
const inbox = sqliteInbox(isMerchants ? { database: merchants } : file, {
  thread: !source.includes('loop'),
  logger: log.logger,
});
const handled = new Set<string>();
const receiver = createReceiver({
  secret: SECRET,
  inbox,
  logger: log.logger,
  handlers: {
    '*': async (event, ctx) => {
      await ctx.transaction((database) => database.prepare('UPDATE shop SET body = randomblob(200000)').run());
      handled.add(event.id);
    },
  },
});
await receiver.start();
const deliveries = Array.from({ length: COUNT }, (_, n) => orderDelivery(`evt_${n}`));
const outcomes = await Promise.all(deliveries.map((delivery) => receiver.receive(delivery)));
const canAll = source === 'thread' || source === 'loop' || source.endsWith('in memory');
for (let n = 0; n < (canAll ? 300 : 10) && handled.size < deliveries.length; n += 1) await delay(100);
const ready = await readiness(inbox);
const copied = await backup(inbox, `${file}.copy`, { actor: 'ada' }).then(() => 'made', messageOf);
let exported = 0;
for await (const _ of exportEvents(inbox, { actor: 'ada' })) exported += 1;
console.log(
  JSON.stringify({
    backup: copied,
    exported,
    stored: outcomes.filter(({ status }) => status === 200).length,
    handled: handled.size,
    ready: ready.ready || ready.why,
    attempts: (await inbox.attempts({ endpoint: 'default', id: 'evt_0' })).map(({ outcome }) => outcome ?? 'running'),
    log: log.lines,
  }),
);
await receiver.close();
await inbox.close();
merchants.close();
