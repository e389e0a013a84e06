// @module-tag longest
import { Pool, type PoolClient } from 'pg';
import { it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../../src/inbox/contract.ts';
import { postgresInbox } from '../../../../src/inbox/postgres/postgres-inbox.ts';
import { dropSchema, postgresUrl, schemaName } from '../../../helpers/postgres.ts';
import { probesOfProcesses } from '../../../processing/breaker-of-processes.ts';

it('of several machines, one event probes, also after the prober is killed', { timeout: 60_000 }, async () => {
  const url = await postgresUrl();
  const schema = schemaName();
  const pool = new Pool({ connectionString: url, max: 2 });
  onTestFinished(() => pool.end());
  onTestFinished(() => dropSchema(pool, schema));
  await using inbox = postgresInbox<PoolClient>(url, { schema });
  await probesOfProcesses(inbox as Inbox<never>, [url, schema]);
});
