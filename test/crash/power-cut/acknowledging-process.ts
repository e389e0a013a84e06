// A process whose writes are recorded: node acknowledging-process.ts <folder>
// It takes deliveries, handles events and closes its inbox. As soon as something is acknowledged, in the same turn of the
// event loop, a line about it goes into the file `acknowledged` of the folder, and so into the order of the writes:
//   stored <id>   it was answered 200
//   settled <id>  it is marked as processed
//   effect <id>   what its handler wrote through ctx.transaction is committed, and it is marked as processed
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { sqliteInbox, type SqliteDatabase } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { EVERYTHING, type ClaimedEvent } from '../../../src/inbox/work.ts';
import { createReceiver } from '../../../src/receive/receiver.ts';
import { signBody } from '../../../src/signing/signature.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { SECRET } from '../../helpers/order-delivery.ts';
import { silent } from '../../helpers/silent-logger.ts';
import { ACKNOWLEDGED, bodyOf, DATABASE } from './what-is-stored.ts';

const CONNECTIONS = 16;
const DELIVERIES = 12;

const [folder = ''] = process.argv.slice(2);
const inbox = sqliteInbox(join(folder, DATABASE));
const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
const acknowledged = openSync(join(folder, ACKNOWLEDGED), 'wx');

function acknowledge(what: string, id: string): void {
  writeSync(acknowledged, `${what} ${id}\n`);
}

async function connection(name: number): Promise<void> {
  for (let n = 0; n < DELIVERIES; n += 1) {
    const id = `evt_${name}_${n}`;
    const body = bodyOf(id);
    if (name % 4 === 0) {
      await storeRunning(id, body);
      continue;
    }
    const { status } = await receiver.receive({ body, signature: signBody(body, SECRET) });
    if (status !== 200) throw new Error(`${id} was answered ${status}`);
    acknowledge('stored', id);
  }
}

async function storeRunning(id: string, body: Buffer): Promise<void> {
  const start = { now: Date.now(), leaseMs: 60_000, ordered: true };
  const { started } = await inbox.accept(incoming({ id, body, entity: null }), later(), start);
  acknowledge('stored', id);
  if (started !== undefined) await handle({ id, lease: started }, id.length);
}

async function handle({ id, lease }: Pick<ClaimedEvent, 'id' | 'lease'>, at: number): Promise<void> {
  if (at % 4 === 0) {
    const attempt = { now: () => Date.now(), signal: new AbortController().signal };
    const effect = (database: SqliteDatabase): void => {
      database.exec('CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL) STRICT');
      database.prepare('INSERT INTO effects VALUES (?)').run(id);
    };
    await inbox.transaction(lease, effect, attempt);
    return acknowledge('effect', id);
  }
  await inbox.settle(lease, { outcome: 'processed' }, Date.now());
  acknowledge('settled', id);
}

const end = new AbortController();

async function processor(): Promise<void> {
  while (!end.signal.aborted) {
    const claimed = await inbox.claim({ ...EVERYTHING, leaseMs: 60_000, ordered: false, now: Date.now() }, 8);
    await Promise.all(claimed.map(handle));
  }
}

const processing = processor();
await Promise.all(Array.from({ length: CONNECTIONS }, (_, name) => connection(name)));
end.abort();
await processing;
await receiver.close();
await inbox.close();
