import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/fetch';
import { postgresInbox } from 'hookbox/postgres';
import { Client } from 'pg';

const handlers = {
  'order.confirmed': async (event, ctx) => {
    await ctx.transaction(async (client) => {
      await client.query('INSERT INTO confirmed_orders (id) VALUES ($1)', [event.data.id]);
    });
  },
};

export default {
  async fetch(request, env, context) {
    // In Workers a connection belongs to the request that opened it, so each request has an inbox of its own.
    const connect = async () => {
      const client = new Client({ connectionString: env.HYPERDRIVE.connectionString });
      client.on('error', () => {}); // Postgres may end it as soon as it is open
      await client.connect();
      return client;
    };
    const inbox = postgresInbox({ connect }, { migrate: false });
    const receiver = createReceiver({ secret: env.SIGNING_SECRET, inbox, handlers });
    try {
      return await webhookHandler(receiver)(request, env, context);
    } finally {
      context.waitUntil(receiver.close().then(() => inbox.close()));
    }
  },
};
