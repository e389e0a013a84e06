// @module-tag longest
import type { Duplex } from 'node:stream';
import { PGlite } from '@electric-sql/pglite';
import type { Pool, PoolClient } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
// @ts-expect-error: an example, in JavaScript
import { pglitePool } from '../../../examples/pglite/pool.mjs';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { createReceiver } from '../../../src/index.ts';
import { databaseFaults } from '../../../src/ops/index.ts';
import { buildEvent, deliverTo, testInbox as inboxForTests } from '../../../src/testing/index.ts';
import { emptySchema, SETTINGS } from '../../helpers/postgres.ts';
import { testWorkQueue } from '../../processing/work-queue.conformance.ts';
import { testInbox } from '../conformance.ts';

const secret = 'a secret for tests';
let db: PGlite;
let pool: Pool;

beforeAll(async () => {
  db = await PGlite.create();
  pool = pglitePool(db) as Pool;
  await using inbox = postgresInbox({ pool }, { ephemeral: true });
  await inbox.list();
  await pool.query('CREATE TABLE orders (id text PRIMARY KEY)');
});

afterAll(async () => {
  await pool.end();
  await db.close();
});

function empty(): Inbox<never> {
  const emptied = emptySchema(pool, 'hookbox');
  const connect = () => emptied.then(() => pool.connect());
  return inboxOnPostgres({ pool: { connect } }, { ...SETTINGS, ephemeral: true }) as unknown as Inbox<never>;
}

testInbox('the inbox on PGlite', empty);
testWorkQueue('the work queue on PGlite', empty);

it('is refused without the option, which the message names', async () => {
  await using inbox = postgresInbox({ pool });
  await expect(inbox.list()).rejects.toMatchObject({
    code: 'NOT_DURABLE',
    message: expect.stringMatching(/fsync = off.* set the option ephemeral: true of postgresInbox/),
  });
});

it('commits what a handler writes, once, and nothing of an attempt that failed or lost its connection', async () => {
  await emptySchema(pool, 'hookbox');
  const { inbox, clock, handledAll } = inboxForTests({ inbox: postgresInbox({ pool }, { ephemeral: true }) });
  let attempts = 0;
  const receiver = createReceiver({
    secret,
    inbox,
    clock,
    logger: false,
    handlers: {
      'order.created': (event, ctx) =>
        ctx.transaction(async (client: PoolClient) => {
          attempts += 1;
          await client.query('INSERT INTO orders VALUES ($1)', [event.data.id]);
          if (attempts === 1) throw new Error('not yet');
          // As when a transaction takes too long.
          const { stream }: { stream?: Duplex } = Reflect.get(client, 'connection');
          if (attempts === 2) stream?.destroy();
        }),
    },
  });
  await receiver.start();
  const event = buildEvent('order.created');
  expect((await deliverTo(receiver, event, { secret })).status).toBe(200);
  expect((await deliverTo(receiver, event, { secret })).body).toMatchObject({ duplicate: true });
  expect(await handledAll()).toMatchObject([{ id: event.id, state: 'processed' }]);
  expect(attempts).toBe(3);
  expect(await databaseFaults(inbox)).toEqual([]);
  expect((await pool.query('SELECT id FROM orders')).rows).toEqual([{ id: event.data.id }]);
  await receiver.close();
  await inbox.close();
});
