import Database from 'better-sqlite3';
import { describe, expectTypeOf, it } from 'vitest';
import {
  createProcessor,
  createReceiver,
  type HandlerContext,
  type Handlers,
  type Inbox,
  type Receiver,
} from '../../src/index.ts';
import type { SqliteDatabase } from '../../src/inbox/sqlite/opening/database.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { listEvents } from '../../src/ops/find.ts';
import { testInbox } from '../../src/testing/test-inbox.ts';

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

describe("ctx.transaction on the merchant's own connection", () => {
  const secret = 'a signing secret';
  const given = () => sqliteInbox({ database: new Database('shop.db') });

  it('has the type of that connection, and is synchronous', () => {
    expectTypeOf(given).returns.toEqualTypeOf<Inbox<Database.Database>>();
    const create = () =>
      createReceiver({
        secret,
        inbox: given(),
        handlers: {
          'order.created': async (event, ctx) => {
            const found = await ctx.transaction((tx) => {
              expectTypeOf(tx).toEqualTypeOf<Database.Database>();
              tx.function('cents', (total: number) => Math.round(total * 100));
              return tx
                .prepare<[string], { readonly total: number }>('SELECT total FROM orders WHERE id = ?')
                .get(event.id);
            });
            expectTypeOf(found).toEqualTypeOf<{ readonly total: number } | undefined>();
            // @ts-expect-error -- an await inside a transaction would commit early
            await ctx.transaction(async (tx) => tx.exec('SELECT 1'));
          },
        },
      });
    expectTypeOf(create).returns.toEqualTypeOf<Receiver>();
  });

  it('takes handlers of a module of their own, whichever connection these name', () => {
    const forAny: Handlers = { '*': (_, ctx) => ctx.transaction((tx) => void tx.exec('SELECT 1')) };
    const forThis: Handlers<Database.Database> = {
      '*': (_, ctx) => ctx.transaction((tx) => void tx.function('one', () => 1)),
    };
    for (const handlers of [forAny, forThis]) {
      expectTypeOf(() => createReceiver({ secret, inbox: given(), handlers })).returns.toEqualTypeOf<Receiver>();
    }
    expectTypeOf(() => createProcessor({ inbox: given(), handlers: forAny })).toBeFunction();
    expectTypeOf(() => createProcessor({ inbox: given(), handlers: forThis })).toBeFunction();
  });

  it('is that of hookbox where a path was given', () => {
    expectTypeOf(() => sqliteInbox('shop.db')).returns.toEqualTypeOf<Inbox>();
  });

  it('is kept by testInbox, and an inbox of it is one for operators', () => {
    expectTypeOf(() => testInbox({ inbox: given() }).inbox).returns.toEqualTypeOf<Inbox<Database.Database>>();
    expectTypeOf(() => listEvents(given())).toBeFunction();
    const asAny: () => Inbox = given;
    expectTypeOf(asAny).toBeFunction();
  });
});
