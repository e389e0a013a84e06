import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/aws-lambda';
import { postgresInbox } from 'hookbox/postgres';
import pg from 'pg';

// An instance handles one request at a time, so one connection is enough; Postgres has room for many instances then.
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1 });
pool.on('error', () => {}); // one that was closed while the instance was frozen; the next request has another

const receiver = createReceiver({
  secret: process.env.SIGNING_SECRET,
  inbox: postgresInbox({ pool }, { migrate: false }),
  handlers: {
    'order.confirmed': async (event, ctx) => {
      await ctx.transaction(async (client) => {
        await client.query('INSERT INTO confirmed_orders (id) VALUES ($1)', [event.data.id]);
      });
    },
  },
});

export const handler = webhookHandler(receiver);
