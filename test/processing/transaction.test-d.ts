import { describe, expectTypeOf, it } from 'vitest';
import { createReceiver, type HandlerContext, type Inbox, type Receiver } from '../../src/index.ts';
import type { SqliteDatabase } from '../../src/inbox/sqlite/opening/database.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';

describe('ctx.transaction', () => {
  it('gives its function the connection, and gives back what that returns', () => {
    createReceiver({
      secret: 'a signing secret',
      inbox: memoryInbox(),
      handlers: {
        'order.created': async (event, context) => {
          const changes = await context.transaction((database) => {
            expectTypeOf(database).toEqualTypeOf<SqliteDatabase>();
            return database.prepare('INSERT INTO orders (id) VALUES (?)').run(event.data.id).changes;
          });
          expectTypeOf(changes).toEqualTypeOf<number>();
          expectTypeOf(await context.transaction(() => {})).toEqualTypeOf<void>();
          expectTypeOf(await context.transaction(() => ({ total: 1 }))).toEqualTypeOf<{ total: number }>();
        },
      },
    });
  });

  it('refuses a function that is asynchronous or returns a promise', () => {
    const check = async (context: HandlerContext): Promise<void> => {
      // @ts-expect-error -- an await inside a transaction would commit early
      await context.transaction(async (database) => database.exec('SELECT 1'));
      // @ts-expect-error -- so would whatever follows a promise
      await context.transaction(() => Promise.resolve(42));
      // @ts-expect-error -- nor may it be one now and then
      await context.transaction((): number | Promise<number> => 42);
    };
    expectTypeOf(check).toBeFunction();
  });
});

describe('ctx.transaction of another kind of inbox', () => {
  interface NetworkClient {
    query(sql: string): Promise<unknown>;
  }

  it('is given that database, and may be asynchronous where the database is', () => {
    const inbox = {} as Inbox<NetworkClient>;
    const create = () =>
      createReceiver({
        secret: 'a secret',
        inbox,
        handlers: {
          'order.created': (_, ctx) =>
            ctx.transaction(async (client) => {
              expectTypeOf(client).toEqualTypeOf<NetworkClient>();
              await client.query('insert');
              return 7;
            }),
        },
      });
    expectTypeOf(create).returns.toEqualTypeOf<Receiver>();
  });
});
