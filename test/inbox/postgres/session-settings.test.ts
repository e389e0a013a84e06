/** Settings of a role, database or pool change nothing. */
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { quoted, tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { eraseEntity } from '../../../src/ops/erase.ts';
import { later } from '../../helpers/incoming-event.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { invalidThen } from '../../ops/events-in-states.ts';
import { found } from '../../ops/found-pages.ts';

const schema = schemaName();
/** Its functions have names of Postgres' own. */
const trap = schemaName();
let url: string;
let pool: Pool;

beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url });
  await using inbox = open(pool);
  await inbox.list();
  await pool.query(`
    CREATE SCHEMA ${quoted(trap)}; SET search_path = ${quoted(trap)};
    CREATE FUNCTION unnest(bigint[]) RETURNS SETOF bigint LANGUAGE sql AS 'SELECT 0::bigint WHERE false';
    CREATE FUNCTION unnest(text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT '''' WHERE false';
    CREATE FUNCTION max(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
    RESET search_path`);
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await dropSchema(pool, trap);
  await pool.end();
});

function open(source: Pool): Inbox<PoolClient> {
  return inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
}

/** Lists with NULL, bodies, errors, a transaction, a search and an erasure. */
async function life(source: Pool): Promise<unknown> {
  await emptySchema(pool, schema);
  await using inbox = open(source);
  const [good, bad, third] = [orderEvent('evt_ü1', { order: 'ord_ä' }), orderEvent('evt_2'), orderEvent('evt_3')];
  const invalid = invalidThen(orderEvent('evt_4'));
  const accepted = await Promise.all([good, bad, third, invalid].map((event) => inbox.accept(event, later())));
  await inbox.announce(EVERYTHING, START, null);
  const claimed = await inbox.claim({ ...EVERYTHING, now: START, leaseMs: 60_000, ordered: true }, 10);
  const [first, second, last] = claimed;
  if (first === undefined || second === undefined || last === undefined) throw new Error('nothing was claimed');
  const error = { name: 'Error', message: 'no \\ such "order" NULL', stack: null };
  const ended = [
    await inbox.transaction(first.lease, (client) => client.query('SELECT 1'), {
      now: () => START,
      signal: new AbortController().signal,
    }),
    ...(await Promise.all([
      inbox.settle(second.lease, { outcome: 'retry', error, dueAt: START + 1_000 }, START),
      inbox.settle(last.lease, { outcome: 'processed' }, START),
    ])),
  ].length;
  const ids = await found(inbox, { entity: 'ord_ä' });
  const attempts = await inbox.attempts({ endpoint: 'default', id: 'evt_2' });
  const { erased } = await eraseEntity(inbox, 'ord_ä', { actor: 'ada', reason: 'a request' });
  const events = await inbox.list();
  const { rows } = await pool.query(`SELECT id FROM ${tablesIn(schema).events} ORDER BY seq`);
  return {
    accepted,
    ended,
    claimed: claimed.map(({ id, attempt, body }) => [id, attempt, Buffer.from(body).toString()]),
    ids,
    stored: rows,
    attempts,
    erased,
    events: events.map(({ id, type, entity, state, body }) => [id, type, entity, state, body?.byteLength]),
  };
}

const settings = [
  ['array_nulls', 'off'],
  ['standard_conforming_strings', 'off'],
  ['backslash_quote', 'on'],
  ['DateStyle', 'German, DMY'],
  ['IntervalStyle', 'iso_8601'],
  ['TimeZone', 'Asia/Kathmandu'],
  ['bytea_output', 'escape'],
  ['extra_float_digits', '-15'],
  ['client_encoding', 'LATIN1'],
  ['client_min_messages', 'error'],
  ['lc_numeric', 'C'],
  ['search_path', `${trap}, pg_catalog`],
  ['default_transaction_isolation', 'serializable'],
  ['default_transaction_read_only', 'on'],
  ['default_transaction_deferrable', 'on'],
  ['transform_null_equals', 'on'],
  ['xmloption', 'document'],
  ['xmlbinary', 'hex'],
  ['quote_all_identifiers', 'on'],
  ['enable_indexscan', 'off'],
  ['enable_indexonlyscan', 'off'],
  ['enable_nestloop', 'off'],
  ['enable_sort', 'off'],
  ['plan_cache_mode', 'force_custom_plan'],
  ['row_security', 'off'],
  ['check_function_bodies', 'off'],
] as const;

/** As libpq's options need it. */
const escaped = (value: string): string => value.replaceAll(/[ \\]/g, String.raw`\$&`);

async function lifeWith(set: readonly (readonly [name: string, value: string])[]): Promise<unknown> {
  const options = set.map(([name, value]) => `-c ${name}=${escaped(value)}`).join(' ');
  const theirs = new Pool({ connectionString: url, options });
  try {
    // `pg` rejects one setting itself.
    theirs.on(
      'connect',
      (client) => void client.query(set.map(([name, value]) => `SET ${name} = ${quotedValue(name, value)}`).join('; ')),
    );
    return await life(theirs);
  } finally {
    await theirs.end();
  }
}

function quotedValue(name: string, value: string): string {
  return name === 'search_path' ? value : `'${value}'`;
}

it('an inbox is opened and made of what Postgres has, whatever lies in the way of its names', async () => {
  const [own, inWay] = [schemaName(), schemaName()];
  await pool.query(
    `CREATE SCHEMA ${quoted(inWay)}; CREATE DOMAIN ${quoted(inWay)}.text AS pg_catalog.text CHECK (false)`,
  );
  const theirs = new Pool({ connectionString: url, options: `-c search_path=${inWay},pg_catalog` });
  onTestFinished(async () => {
    await theirs.end();
    await dropSchema(pool, own);
    await dropSchema(pool, inWay);
  });
  await using inbox = inboxOnPostgres<PoolClient>({ pool: theirs }, { ...SETTINGS, schema: own });
  expect(await inbox.accept(orderEvent('evt_1'), later())).toMatchObject({ result: 'stored' });
});

it('all of them at once', async () => {
  expect(await lifeWith(settings)).toEqual(await life(pool));
});

it.each(settings)('%s = %s', async (...setting) => {
  expect(await lifeWith([setting])).toEqual(await life(pool));
});
