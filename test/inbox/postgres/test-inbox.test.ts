import { Pool, type PoolClient } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { createReceiver } from '../../../src/index.ts';
import { buildEvent, deliverTo, testInbox } from '../../../src/testing/index.ts';
import { dropSchema, postgresUrl, schemaName } from '../../helpers/postgres.ts';

const secret = 'a secret for tests';
let pool: Pool;
let schema: string;

beforeEach(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  schema = schemaName();
});

afterEach(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

it("a merchant's suite tests retries and ctx.transaction on Postgres without waiting", async () => {
  const tables = postgresInbox({ pool }, { schema });
  const { inbox, clock, handledAll } = testInbox({ inbox: tables });
  await pool.query(`CREATE TABLE IF NOT EXISTS public.${schema}_orders (id text PRIMARY KEY)`);
  let attempts = 0;
  const receiver = createReceiver({
    secret,
    inbox,
    clock,
    logger: false,
    handlers: {
      'order.created': async (event, ctx) => {
        attempts += 1;
        if (attempts < 4) throw new Error('not yet');
        const insert = (db: PoolClient) => db.query(`INSERT INTO public.${schema}_orders VALUES ($1)`, [event.data.id]);
        await ctx.transaction(insert);
      },
    },
  });
  await receiver.start();
  try {
    const event = buildEvent('order.created');
    expect((await deliverTo(receiver, event, { secret })).status).toBe(200);
    expect(await handledAll()).toMatchObject([{ id: event.id, state: 'processed' }]);
    expect(attempts).toBe(4);
    const { rows } = await pool.query(`SELECT id FROM public.${schema}_orders`);
    expect(rows).toEqual([{ id: event.data.id }]);
  } finally {
    await receiver.close();
    await inbox.close();
    await pool.query(`DROP TABLE public.${schema}_orders`);
  }
});
