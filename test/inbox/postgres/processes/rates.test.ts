// @module-tag longest
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../../src/inbox/contract.ts';
import { postgresInbox } from '../../../../src/inbox/postgres/postgres-inbox.ts';
import { dropSchema, postgresUrl, schemaName } from '../../../helpers/postgres.ts';
import { attemptsOfProcesses, RATE } from '../../../processing/rates-of-processes.ts';

let url: string;
let pool: Pool;

beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url, max: 4 });
});
afterAll(() => pool.end());

async function most(locks: 'all' | 'unlocked'): Promise<number> {
  const schema = schemaName();
  onTestFinished(() => dropSchema(pool, schema));
  await using inbox = postgresInbox<PoolClient>(url, { schema });
  const { most, tookMs } = await attemptsOfProcesses(inbox as Inbox<never>, [url, schema, locks]);
  console.info(`locks: ${locks}: ${most} attempts in ${RATE.perMs} ms, in all ${tookMs} ms`);
  return most;
}

it('machines that are killed, stopped and started reach a rate and keep it', { timeout: 60_000 }, async () => {
  expect(await most('all')).toBe(RATE.count);
});

it('without the locks of rates, two claims count the same attempts', { timeout: 60_000 }, async () => {
  expect(await most('unlocked')).toBeGreaterThan(RATE.count);
});
