import { Client, defaults, types, type PoolClient } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { databaseTime } from '../../../src/inbox/postgres/database-time.ts';
import { quoted } from '../../../src/inbox/postgres/sql/tables.ts';
import { listEvents } from '../../../src/ops/find.ts';
import { createReceiver } from '../../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../../helpers/order-delivery.ts';
import { dropSchema, schemaName, scratchPool, SETTINGS } from '../../helpers/postgres.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';

class Odd {
  readonly text: unknown;
  constructor(text: unknown) {
    this.text = text;
  }
}

const OIDS = [
  16, 17, 20, 21, 23, 25, 26, 28, 114, 700, 701, 1000, 1005, 1007, 1009, 1016, 1043, 1114, 1184, 1700, 3802, 5069,
];

const options = (...settings: readonly string[]) => ({
  options: settings.map((each) => `-c ${each}`).join(' '),
});

interface Merchant {
  readonly settings?: object | (() => object);
  /** in the whole process; returns a function that undoes it */
  readonly change?: () => () => void;
}

const cases: readonly (readonly [string, Merchant])[] = [
  ['types of the pool', { settings: { types: { getTypeParser: () => (text: unknown) => new Odd(text) } } }],
  [
    'types.setTypeParser',
    {
      change() {
        const before = OIDS.map((oid) => [oid, types.getTypeParser(oid)] as const);
        for (const oid of OIDS) types.setTypeParser(oid, (text: string) => new Odd(text));
        return () => before.forEach(([oid, parser]) => types.setTypeParser(oid, parser));
      },
    },
  ],
  [
    'defaults.parseInt8 and parseInputDatesAsUTC',
    {
      change() {
        Object.assign(defaults, { parseInt8: true, parseInputDatesAsUTC: true });
        return () => Object.assign(defaults, { parseInt8: false, parseInputDatesAsUTC: false });
      },
    },
  ],
  ['binary results', { settings: { binary: true } }],
  ['a client that has rows as lists', { settings: () => ({ Client: inLists() }) }],
  [
    'session settings of all kinds',
    {
      settings: options(
        'datestyle=SQL,DMY',
        'intervalstyle=sql_standard',
        'bytea_output=escape',
        'extra_float_digits=-15',
        'timezone=Asia/Kathmandu',
        'standard_conforming_strings=off',
        'backslash_quote=off',
        'quote_all_identifiers=on',
        'transform_null_equals=on',
        'default_transaction_isolation=serializable',
        'default_transaction_read_only=on',
        'default_transaction_deferrable=on',
        'search_path=',
        'row_security=off',
        'debug_parallel_query=on',
      ),
    },
  ],
  ['another encoding', { settings: options('client_encoding=latin1') }],
];

/** An application may make its client like this. */
function inLists() {
  class InLists extends Client {}
  const query: unknown = Reflect.get(Client.prototype, 'query');
  Object.assign(InLists.prototype, {
    query(this: Client, asked: unknown, ...rest: unknown[]): unknown {
      const changed = typeof asked === 'string' ? { text: asked } : { ...Object(asked) };
      return Reflect.apply(query as () => unknown, this, [{ ...changed, rowMode: 'array' }, ...rest]);
    },
  });
  return InLists;
}

describe.each(cases)('a pool of the merchant with %s', (_, { settings, change }) => {
  it('receives, handles in ctx.transaction and is looked into as any other', async () => {
    const restore = change?.();
    onTestFinished(() => restore?.());
    const schema = schemaName();
    const apart = await scratchPool({ max: 1 });
    onTestFinished(() => dropSchema(apart, schema));
    await apart.query(`CREATE SCHEMA ${quoted(schema)}; CREATE TABLE ${quoted(schema)}.orders (id text)`);
    const pool = await scratchPool(typeof settings === 'function' ? settings() : settings);
    await using inbox = inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema, time: databaseTime() });
    const { logger, lines } = recordedLog();
    const receiver = createReceiver({
      secret: SECRET,
      inbox,
      logger,
      handlers: {
        '*': (event, ctx) =>
          ctx.transaction((client) => client.query(`INSERT INTO ${quoted(schema)}.orders VALUES ($1)`, [event.id])),
      },
    });
    await receiver.start();
    for (const id of ['evt_ä', 'evt_2']) {
      expect(await receiver.receive(orderDelivery(id))).toMatchObject({ kind: 'stored' });
      expect(await receiver.receive(orderDelivery(id))).toMatchObject({ kind: 'duplicate' });
    }
    await expect
      .poll(async () => (await inbox.list()).map(({ id, state }) => [id, state]))
      .toEqual([
        ['evt_ä', 'processed'],
        ['evt_2', 'processed'],
      ]);
    await receiver.close();
    expect(lines).toEqual([]);
    const found = await inbox.get({ endpoint: 'default', id: 'evt_ä' });
    expect(found?.body).toEqual(orderDelivery('evt_ä').body);
    expect(await inbox.attempts({ endpoint: 'default', id: 'evt_ä' })).toMatchObject([{ outcome: 'processed' }]);
    expect((await apart.query(`SELECT FROM ${quoted(schema)}.orders`)).rows).toHaveLength(2);
    expect((await listEvents(inbox as never)).events).toHaveLength(2);
  });
});
