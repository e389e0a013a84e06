import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { quoted } from '../../src/inbox/postgres/sql/tables.ts';
import { onPostgres } from './on-postgres.ts';

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
  const grant = `GRANT CREATE ON SCHEMA ${quoted(there.schema)} TO ${quoted(role)}, or run hookbox migrate with a role that may`;
  expect(migrated.stderr).toContain(grant);
  expect(migrated.stderr).not.toContain('ON DATABASE');

  writeFileSync(join(there.cwd, 'export.ndjson'), '');
  const imported = await there.hookbox(['events', 'import', 'export.ndjson'], there.urlOf(role));
  expect(imported.stderr).toContain(grant);
  expect(imported.stderr).not.toContain('is a new inbox');
});

it('the doctor says of such a role that the next start makes no tables', async () => {
  const role = await roleThatOnlyWorks();
  const { code, stdout } = await there.hookbox(['doctor', '--port', '0'], there.urlOf(role));
  expect(code).toBe(1);
  expect(stdout).toContain('may not make the tables that are missing');
  expect(stdout).toContain('holds no inbox yet; hookbox migrate brings it there, with a role that may make tables');
  expect(stdout).not.toContain('the next start');
});
