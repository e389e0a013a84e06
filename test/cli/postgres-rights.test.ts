import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { postgresInbox } from '../../src/inbox/postgres/postgres-inbox.ts';
import { quoted } from '../../src/inbox/postgres/sql/tables.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { onPostgres } from './on-postgres.ts';
import { runHookbox } from './run-hookbox.ts';

const there = onPostgres();

/** As docs/postgres.md has it: somebody else migrates, and has not yet. */
async function roleThatOnlyWorks(): Promise<string> {
  const role = await there.scratchRole();
  await there.pool.query(`CREATE SCHEMA ${quoted(there.schema)}`);
  await there.pool.query(`GRANT USAGE ON SCHEMA ${quoted(there.schema)} TO ${role}`);
  return role;
}

it('a role that may make no tables is told what is missing, and not what it has', async () => {
  const role = await roleThatOnlyWorks();
  const migrated = await there.hookbox(['migrate'], there.urlOf(role));
  expect(migrated).toMatchObject({ code: 1, stdout: '' });
  const grant = `Run hookbox migrate with a role that can create tables, or allow this role to create them: GRANT CREATE ON SCHEMA ${quoted(there.schema)} TO ${quoted(role)}`;
  expect(migrated.stderr).toContain(grant);
  expect(migrated.stderr).not.toContain('ON DATABASE');

  writeFileSync(join(there.cwd, 'export.ndjson'), '');
  const imported = await there.hookbox(['events', 'import', 'export.ndjson'], there.urlOf(role));
  expect(imported.stderr).toContain(grant);
  expect(imported.stderr).not.toContain('is a new inbox');
});

it('a role that may only look is told by what it may not do who says what to grant', async () => {
  const role = await there.scratchRole();
  await there.makeInbox();
  await there.pool.query(
    `GRANT USAGE ON SCHEMA ${quoted(there.schema)} TO ${role};
     GRANT SELECT ON ALL TABLES IN SCHEMA ${quoted(there.schema)} TO ${role}`,
  );
  expect(await there.hookbox(['events', 'list'], there.urlOf(role))).toMatchObject({ code: 0, stderr: '' });
  const acted = await there.hookbox(['events', 'discard', 'evt_1'], there.urlOf(role));
  expect(acted).toMatchObject({ code: 1, stdout: '' });
  expect(acted.stderr).toMatch(
    /permission denied for table \w+ \(42501\)\. .*To see the missing GRANT, run npx hookbox doctor/,
  );

  // So does what a server logs of a delivery.
  await using inbox = postgresInbox(there.urlOf(role), { schema: there.schema, listen: false });
  await expect(inbox.accept(incoming(), later())).rejects.toMatchObject({
    code: 'FAILED',
    message: expect.stringMatching(/42501.*hookbox doctor/),
  });
});

it('the doctor says of a role that is named as the schema where its own tables would be made', async () => {
  const role = await there.scratchRole();
  await there.pool.query(`CREATE SCHEMA ${role} AUTHORIZATION ${role}`);
  const doctor = async (): Promise<string> => {
    const args = ['doctor', '--port', '0', '--schema', role];
    return (await runHookbox(args, { cwd: there.cwd, env: { HOOKBOX_DB: there.urlOf(role) } })).stdout;
  };
  const said = `if a CREATE statement names no schema, Postgres creates the object in ${role}, where the tables of the inbox are, because the role and the schema have the same name`;
  expect(await doctor()).toContain(said);
  await there.pool.query(`ALTER ROLE ${role} SET search_path = public`);
  expect(await doctor()).not.toContain('where the tables of the inbox are');
});

it('the doctor says of such a role that the next start makes no tables', async () => {
  const role = await roleThatOnlyWorks();
  const { code, stdout } = await there.hookbox(['doctor', '--port', '0'], there.urlOf(role));
  expect(code).toBe(1);
  expect(stdout).toContain('cannot create the missing tables');
  expect(stdout).toContain('has no inbox yet; to create it, run hookbox migrate with a role that can create tables');
  expect(stdout).not.toContain('without migrate: false');
});
