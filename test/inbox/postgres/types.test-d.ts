import type { Pool, PoolClient } from 'pg';
import { describe, expectTypeOf, it } from 'vitest';
import { createProcessor, createReceiver, type Handlers } from '../../../src/index.ts';
import { postgresInbox, type PostgresConnection } from '../../../src/inbox/postgres/postgres-inbox.ts';

describe('ctx.transaction of an inbox in Postgres', () => {
  it("is given a connection of the merchant's pool, and may be asynchronous", () => {
    const inbox = postgresInbox({ pool: {} as Pool });
    createReceiver({
      secret: 'a signing secret',
      inbox,
      handlers: {
        'order.created': async (event, ctx) => {
          const id = await ctx.transaction(async (client) => {
            expectTypeOf(client).toEqualTypeOf<PoolClient>();
            await client.query('INSERT INTO orders (id) VALUES ($1)', [event.data.id]);
            return event.id;
          });
          expectTypeOf(id).toEqualTypeOf<string>();
        },
      },
    });
    createProcessor({
      inbox,
      handlers: { '*': (_, ctx) => ctx.transaction((client) => client.query('SELECT 1')) },
    });
  });

  it('is so for handlers in a file of their own', () => {
    const handlers = {
      'order.created': async (event, ctx) => {
        await ctx.transaction((client) => client.query('INSERT INTO orders (id) VALUES ($1)', [event.data.id]));
      },
    } satisfies Handlers<PoolClient>;
    createReceiver({ secret: 'a signing secret', inbox: postgresInbox({ pool: {} as Pool }), handlers });
  });

  it('is given what hookbox asks of one where it opens them itself', () => {
    createProcessor({
      inbox: postgresInbox('postgres://localhost/shop'),
      handlers: {
        '*': (_, ctx) =>
          ctx.transaction(async (connection) => {
            expectTypeOf(connection).toEqualTypeOf<PostgresConnection>();
            const { rows } = await connection.query({ text: 'SELECT $1::int AS n', values: [1] });
            expectTypeOf((rows as { n: number }[])[0]?.n).toEqualTypeOf<number | undefined>();
          }),
      },
    });
  });
});
