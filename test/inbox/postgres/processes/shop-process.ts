// node shop-process.ts receive|handle <url> <hours that its clock is ahead>
// A receiving machine writes its port to
// its output. A handling machine writes a row for each event, through ctx.transaction. The test kills both.
import { createServer } from 'node:http';
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { webhookHandler } from '../../../../adapters/node.ts';
import { postgresInbox } from '../../../../src/inbox/postgres/postgres-inbox.ts';
import { createReceiver } from '../../../../src/receive/receiver.ts';
import { SECRET } from '../../../helpers/order-delivery.ts';
import { silent } from '../../../helpers/silent-logger.ts';

// A kill would lose the code that Node has compiled.
flushCompileCache();

const [role, url = '', hours = '0'] = process.argv.slice(2);
setClock(Number(hours) * 3_600_000);

/** As on a machine with a wrong clock. */
function setClock(aheadMs: number): void {
  const { now } = Date;
  globalThis.Date = class extends Date {
    constructor(given: number | string | Date = now() + aheadMs) {
      super(given);
    }
    static override now(): number {
      return now() + aheadMs;
    }
  } as DateConstructor;
}

const pool = new Pool({ connectionString: url, max: 8 });
pool.on('error', () => {});
const inbox = postgresInbox<PoolClient>({ pool });

if (role === 'receive') {
  const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
  const server = createServer((request, response) => void webhookHandler(receiver)(request, response));
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
} else {
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    handlers: {
      '*': async ({ id }, context) => {
        await sleep(Math.random() * 5);
        await context.transaction((client) => client.query('INSERT INTO shipments (event) VALUES ($1)', [id]));
        await sleep(Math.random() * 5);
      },
    },
    processing: { concurrency: 4, leaseMs: 1_000, retry: { baseMs: 20, maxMs: 200, attempts: 100 } },
    logger: silent,
  });
  await receiver.start();
  process.stdout.write('handles\n');
}
