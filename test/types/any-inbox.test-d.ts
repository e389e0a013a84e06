import Database from 'better-sqlite3';
import { Pool, type PoolClient } from 'pg';
import { describe, expectTypeOf, it } from 'vitest';
import { pageHandler } from '../../adapters/node.ts';
import {
  createProcessor,
  createReceiver,
  type rerun,
  type AnyInbox,
  type Handlers,
  type Inbox,
  type Receiver,
} from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { postgresInbox } from '../../src/inbox/postgres/postgres-inbox.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import * as ops from '../../src/ops/index.ts';
import { opsPage } from '../../src/page/operators-page.tsx';
import { testInbox } from '../../src/testing/test-inbox.ts';

const pool = (): Inbox<PoolClient> => postgresInbox({ pool: new Pool() });

/** One of the merchant's own, which passes on what it is asked. */
function logged<Connection>(inbox: Inbox<Connection>): Inbox<Connection> {
  return { ...inbox, accept: (event, deadline) => inbox.accept(event, deadline) };
}

const given = {
  pool,
  url: () => postgresInbox('postgres://localhost/shop'),
  connect: () => postgresInbox({ connect: () => new Pool().connect() }),
  sqlite: () => sqliteInbox('shop.db'),
  database: () => sqliteInbox({ database: new Database('shop.db') }),
  memory: () => memoryInbox(),
  test: () => testInbox({ inbox: pool() }).inbox,
  wrapped: () => logged(pool()),
  wrappedFile: () => logged(sqliteInbox('shop.db')),
  receiver: () => createReceiver({ secret: 'a signing secret', inbox: pool() }).inbox,
};

/** What any of them may be: each function has to take all. */
type Given = ReturnType<(typeof given)[keyof typeof given]>;

type Refusing<Name extends keyof typeof ops> = Given extends Parameters<(typeof ops)[Name]>[0] ? never : Name;
/** The functions of hookbox/ops that do not take each of them. */
type AllRefusing = { readonly [Name in keyof typeof ops]: Refusing<Name> }[keyof typeof ops];

describe('an inbox of any kind', () => {
  it('is taken by each function of hookbox/ops', () => {
    expectTypeOf<Given>().toExtend<AnyInbox>();
    expectTypeOf<AllRefusing>().toBeNever();
    expectTypeOf<Given>().toExtend<Parameters<typeof rerun>[0]>();
  });

  it('is one to a function of the merchant that takes any', () => {
    const report = (inbox: AnyInbox) => ops.stats(inbox);
    expectTypeOf<Given>().toExtend<Parameters<typeof report>[0]>();
  });

  it('has a receiver, a processor and a page', () => {
    const on = <Connection>(inbox: Inbox<Connection>): Receiver => {
      createProcessor({ inbox, handlers: {} });
      return createReceiver({ secret: 'a signing secret', inbox });
    };
    pageHandler(opsPage(on(pool()), { unsafeOpen: true }));
    expectTypeOf<Given>().toExtend<Parameters<typeof on>[0]>();
  });
});

describe('handlers in a file of their own', () => {
  const onPostgres: Handlers<PoolClient> = {
    '*': (_, ctx) => ctx.transaction(async (client) => void (await client.query('SELECT 1'))),
  };

  it('run on the inbox that they were written for, on one in memory, and on none else', () => {
    const secret = 'a signing secret';
    createReceiver({ secret, inbox: pool(), handlers: onPostgres });
    createReceiver({ secret, inbox: memoryInbox<PoolClient>(), handlers: onPostgres });
    createReceiver({ secret, inbox: testInbox<PoolClient>().inbox, handlers: onPostgres });
    createProcessor({ inbox: logged(pool()), handlers: onPostgres });
    // @ts-expect-error -- its transactions work on a file
    createReceiver({ secret, inbox: sqliteInbox('shop.db'), handlers: onPostgres });
    // @ts-expect-error -- nobody knows on what its transactions work
    createReceiver({ secret, inbox: given.receiver(), handlers: onPostgres });
  });
});
