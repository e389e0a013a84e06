/**
 * A server in which another SQLite library works on the file of its inbox: node another-library-process.ts <file>
 * <thread|loop> <looks|writes>. It says how it went and waits to be killed.
 */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { messageOf } from '../../../src/errors.ts';
import { incoming } from '../../helpers/incoming-event.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';

const [file = '', placement, how] = process.argv.slice(2);
const LASTS_MS = 2_000;
const log = recordedLog();
const inbox = sqliteInbox(file, { thread: placement === 'thread', logger: log.logger });
let end = Infinity;
const acknowledged: string[] = [];
const refused = new Map<string, number>();

async function deliver(id: string): Promise<void> {
  try {
    await inbox.accept(incoming({ id, entity: null }), performance.now() + 3_000);
    acknowledged.push(id);
  } catch (failure) {
    refused.set(messageOf(failure), (refused.get(messageOf(failure)) ?? 0) + 1);
  }
}

async function look(): Promise<number> {
  let looks = 0;
  for (; performance.now() < end; looks += 1) {
    const other = new DatabaseSync(file, { timeout: 5_000 });
    other.prepare('SELECT count(*) FROM hookbox_events').get();
    await sleep(looks % 2 === 0 ? 0 : 60);
    other.close();
    await sleep(100);
  }
  return looks;
}

async function write(): Promise<number> {
  const other = new DatabaseSync(file, { timeout: 5_000 });
  other.exec('CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, note TEXT)');
  const insert = other.prepare('INSERT INTO orders (note) VALUES (?)');
  let orders = 0;
  while (performance.now() < end) {
    other.exec('BEGIN IMMEDIATE');
    for (let n = 0; n < 5; n += 1) insert.run('x'.repeat(200));
    other.exec('COMMIT');
    orders += 5;
    await sleep(2);
  }
  return orders;
}

await deliver('first');
end = performance.now() + LASTS_MS;
const others = how === 'looks' ? look() : write();
const clients = Array.from({ length: 8 }, async (_, client) => {
  for (let n = 0; performance.now() < end; n += 1) {
    await deliver(`evt_${client}_${n}`);
    await sleep(Math.random() * 4);
  }
});
const done = await others;
await Promise.all(clients);
for (let n = 0; n < 3; n += 1) await deliver(`last_${n}`);
const warnings = log.lines.map(({ facts }) => String((facts as { readonly cause: unknown }).cause));
console.log(JSON.stringify({ acknowledged, refused: [...refused], done, warnings }));
await sleep(60_000);
