import { readFileSync } from 'node:fs';
import { Client, Pool } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { postgresUrl, schemaName } from '../../helpers/postgres.ts';

const page = readFileSync(new URL('../../../docs/databases.md', import.meta.url), 'utf8');

it('the roles of docs/databases.md, made by an administrator who is no superuser: one migrates, the other works', async () => {
  const [, roles = ''] = /^```sql\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const database = schemaName();
  const admin = schemaName();
  const url = await postgresUrl();
  const as = (role: string): string => url.replace(/\/\/[^@]*@/, `//${role}@`).replace(/[^/]*$/, database);
  const owner = new Pool({ connectionString: url });
  onTestFinished(() => owner.end());
  await owner.query(`CREATE ROLE ${admin} LOGIN CREATEROLE`);
  await owner.query(`CREATE DATABASE ${database} OWNER ${admin}`);
  const client = new Client({ connectionString: as(admin) });
  await client.connect();
  await client.query(roles);
  await client.end();

  await using early = postgresInbox(as('hookbox_app'), { migrate: false });
  await expect(early.list()).rejects.toMatchObject({ code: 'SCHEMA_MISSING' });
  await using deploy = postgresInbox(as('hookbox_deploy'));
  await deploy.list();
  await using inbox = postgresInbox(as('hookbox_app'), { migrate: false });
  expect(await inbox.accept(incoming(), later())).toMatchObject({ result: 'stored' });
  expect(await inbox.accept(incoming({ body: 'other' }), later())).toMatchObject({ conflict: true });
  expect(await inbox.list()).toHaveLength(1);
});
