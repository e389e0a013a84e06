import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { doneOnce } from '../../../src/inbox/postgres/driver/database.ts';
import { inboxOnPostgres, storeOn } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { quoted } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { armedPool, once, rewrittenPool } from './pools.ts';

const schema = schemaName();
const lines = `${quoted(schema)}.lines`;
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  await using inbox = inboxOnPostgres<PoolClient>({ pool }, { ...SETTINGS, schema });
  await inbox.list();
  await pool.query(`CREATE TABLE ${lines} (id text)`);
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

beforeEach(async () => {
  await emptySchema(pool, schema);
  await pool.query(`TRUNCATE ${lines}`);
});

/** A server that has taken over has not given out the id yet. */
function takenOver() {
  const given = /(pg_current_xact_id(?:_if_assigned)?\(\))::text AS id/;
  const ahead = rewrittenPool(pool, (text) => text.replace(given, '($1::text::bigint + 1000000)::text AS id'));
  const { interfere, seen } = once((text) => text === 'COMMIT', 'lost');
  return { ...armedPool(ahead, interfere), seen };
}

const insert = `INSERT INTO ${lines} VALUES ('one')`;

async function written(): Promise<number> {
  return (await pool.query(`SELECT FROM ${lines}`)).rows.length;
}

it('what is done once, to a server that took over before its COMMIT, is done there', async () => {
  const { source, seen, arm } = takenOver();
  const store = storeOn({ pool: source }, { ...SETTINGS, schema });
  await store.database.alone((session) => session.rows('SELECT 1'));
  arm();
  await doneOnce(store.database, { work: (session) => session.run(insert) });
  expect([await written(), seen.count]).toEqual([1, 2]);
  await store.database.close();
});

it('what ctx.transaction wrote there is known to be lost', async () => {
  const { source, arm } = takenOver();
  await using inbox = inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });
  await inbox.accept(incoming({ receivedAt: START }), later());
  const [event] = await inbox.claim({ ...EVERYTHING, now: START, leaseMs: 1_000, ordered: true }, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  const work = async (client: PoolClient) => {
    await client.query(insert);
    arm();
  };
  const attempt = { now: () => START, signal: new AbortController().signal };
  await expect(inbox.transaction(event.lease, work, attempt)).rejects.toThrow(/was not committed/);
  expect(await written()).toBe(0);
});
