// @module-tag postgres
import { Pool } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { tableNames } from '../../../src/inbox/postgres/sql/tables.ts';
import { readiness } from '../../../src/ops/health.ts';
import { postgresUrl } from '../../helpers/postgres.ts';
import { testHealth } from '../../ops/health.conformance.ts';
import { interferedPool } from './pools.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();
const READY = { ready: true, unhandled: [], warnings: [] };
const LATE = { ready: false, code: 'DEADLINE', why: 'the database stayed locked for 2 s' };

/** Other sessions cannot use the table meanwhile. */
async function locked(table: string): Promise<() => Promise<void>> {
  const holder = await schema().pool.connect();
  await holder.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  return async () => {
    await holder.query('COMMIT');
    holder.release();
  };
}

testHealth('the health of an inbox in Postgres', async () => {
  const { pool, t, open } = schema();
  let probed = 0;
  const counting = interferedPool(pool, (text) => {
    if (text.includes("'ping'")) probed += 1;
    return null;
  });
  return {
    inbox: closedAfter(await open(counting)),
    async rows() {
      const counts = tableNames.map((name) => `(SELECT count(*) FROM ${t[name]})::integer`);
      const { rows } = await pool.query<{ counts: number[] }>(`SELECT ARRAY[${counts.join(', ')}] AS counts`);
      return rows[0]?.counts ?? [];
    },
    hold: () => locked(t.events),
    probed: () => probed,
  };
});

it.each(['shelf', 'counts'] as const)('is not ready while somebody has locked %s', async (name) => {
  const { t, open } = schema();
  const inbox = closedAfter(await open());
  expect(await readiness(inbox)).toEqual(READY);
  const letGo = await locked(t[name]);
  expect(await readiness(inbox)).toEqual(LATE);
  await letGo();
  expect(await readiness(inbox)).toEqual(READY);
});

it('is not ready while others have all connections, and is again afterwards', async () => {
  const { open } = schema();
  const pool = new Pool({ connectionString: await postgresUrl(), max: 2 });
  onTestFinished(() => pool.end());
  const inbox = closedAfter(await open(pool));
  expect(await readiness(inbox)).toEqual(READY);
  const others = await Promise.all([pool.connect(), pool.connect()]);
  expect(await readiness(inbox)).toEqual(LATE);
  for (const other of others) other.release();
  expect(await readiness(inbox)).toEqual(READY);
});

it('is not ready while Postgres is not heard of, and is again as soon as it is, on another connection', async () => {
  const { pool, open } = schema();
  let isSilent = false;
  const silent = interferedPool(pool, (text) => (isSilent && text.includes("'ping'") ? 'silent' : null));
  const inbox = closedAfter(await open(silent));
  expect(await readiness(inbox)).toEqual(READY);
  isSilent = true;
  expect(await readiness(inbox)).toEqual(LATE);
  isSilent = false;
  expect(await readiness(inbox)).toEqual(READY);
});

it.each([
  ['takes no writes any more', '25006'],
  ['has no room for another event', '53100'],
])('is not ready while Postgres %s', async (_, code) => {
  const { pool, open } = schema();
  let isRefused = false;
  const refusing = interferedPool(pool, (text) => (isRefused && text.includes("'ping'") ? { code } : null));
  const inbox = closedAfter(await open(refusing));
  isRefused = true;
  const why = expect.stringContaining(code);
  expect(await readiness(inbox)).toEqual({ ready: false, code: 'FAILED', why });
  isRefused = false;
  expect(await readiness(inbox)).toEqual(READY);
});

it('asks again where its connection has ended, as when Postgres was restarted', async () => {
  const { pool, open } = schema();
  let left = 1;
  const ending = interferedPool(pool, (text) => (text.includes("'ping'") && left-- > 0 ? 'lost' : null));
  expect(await readiness(closedAfter(await open(ending)))).toEqual(READY);
});
