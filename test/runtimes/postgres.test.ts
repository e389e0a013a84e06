// @module-tag postgres
import { Pool } from 'pg';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { part } from '../helpers/parts.ts';
import { dropSchema, postgresUrl, schemaName } from '../helpers/postgres.ts';
import { runProcess } from './runtime-process.ts';

const PERMISSIONS = ['--allow-net', '--allow-env', '--allow-read', '--allow-sys'];

const RUNTIMES: readonly (readonly [string, () => readonly string[]])[] = [
  ['Node 22', () => [part('node22/bin/node')]],
  ['Node 24', () => [process.execPath]],
  ['Node 26', () => [part('node26/bin/node')]],
  ['Bun', () => [part('.bin/bun')]],
  ['Deno', () => [part('.bin/deno'), 'run', '--no-prompt', ...PERMISSIONS]],
];
const said = z.object({ kinds: z.array(z.string()), ids: z.array(z.string()), unexpected: z.array(z.unknown()) });

it.each(RUNTIMES)('%s receives into Postgres and handles each event once', async (_, command) => {
  const pool = new Pool({ connectionString: await postgresUrl() });
  const schema = schemaName();
  try {
    await pool.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.effects_of_shop (id text NOT NULL)`);
    const { lines } = await runProcess(command(), 'check-postgres.ts', [await postgresUrl(), schema]);
    const { kinds, ids, unexpected } = said.parse(JSON.parse(lines.at(-1) ?? ''));
    expect([kinds, unexpected]).toEqual([['stored', 'duplicate'], []]);
    const { rows } = await pool.query<{ id: string }>(`SELECT id FROM ${schema}.effects_of_shop`);
    expect(rows.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    const attempts = await pool.query<{ outcome: string }>(`SELECT DISTINCT outcome FROM ${schema}.attempts`);
    expect(attempts.rows.map(({ outcome }) => outcome).toSorted()).toEqual(['failed', 'processed']);
  } finally {
    await dropSchema(pool, schema);
    await pool.end();
  }
});
