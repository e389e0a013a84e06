// @module-tag longest
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { postgresInbox } from '../../../../src/inbox/postgres/postgres-inbox.ts';
import { tablesIn } from '../../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../../src/inbox/work.ts';
import { bundledScript } from '../../../helpers/bundled-script.ts';
import { dropSchema, postgresUrl, schemaName } from '../../../helpers/postgres.ts';
import { leaseFindings, logLeases } from './lease-log.ts';

const PROCESSES = 10;
/** The machine decides how long this takes. */
const LEASES = Number(process.env['HOOKBOX_TEST_LEASES'] ?? 1_000);
/** Longer than any lease, and than claims overlook due events. */
const AT_REST = 150;
const LOOK_MS = 100;

let url: string;
let pool: Pool;
let script: string;

beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url, max: 4 });
  pool.on('error', () => {});
  script = await bundledScript(new URL('claiming-process.ts', import.meta.url));
});
afterAll(() => pool.end());

interface Outcome {
  readonly leases: number;
  readonly double: number;
  /** due events that no machine holds or claims */
  readonly stuck: number;
}

async function worked(locks: 'all' | 'unlocked'): Promise<Outcome> {
  const schema = schemaName();
  onTestFinished(() => dropSchema(pool, schema));
  await using inbox = postgresInbox(url, { schema });
  await inbox.announce(EVERYTHING, Date.now(), null);
  await logLeases(pool, schema);
  const { queue } = tablesIn(schema);
  const machines = Array.from({ length: PROCESSES }, (_, n) => machine(url, schema, String(n), locks));
  await enough(schema);
  for (const { stdin } of machines) stdin?.write('no more\n');
  const stuck = await left(queue);
  for (const { stdin } of machines) stdin?.end();
  await Promise.all(machines.map(ended));
  return { ...(await leaseFindings(pool, schema)), stuck };
}

function machine(...given: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [script, ...given], { stdio: ['pipe', 'inherit', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null) await once(child, 'exit');
  expect(child.exitCode).toBe(0);
}

/** Or until stuck events leave no more leases. */
async function enough(schema: string): Promise<void> {
  for (let same = 0, before = -1; same < AT_REST / 3;) {
    const { leases } = await leaseFindings(pool, schema);
    if (leases >= LEASES) return;
    same = leases === before && leases > 0 ? same + 1 : 0;
    before = leases;
    await delay(LOOK_MS);
  }
}

/** Empty, or unchanged for much longer than a lease. */
async function left(queue: string): Promise<number> {
  let before = '';
  for (let same = 0; ;) {
    const { rows } = await pool.query<{ count: number; state: string }>(
      `SELECT count(*)::integer AS count, coalesce(sum(fence), 0)::text AS state FROM ${queue}`,
    );
    const [now] = rows;
    if (now === undefined || now.count === 0) return 0;
    same = now.state === before ? same + 1 : 0;
    before = now.state;
    if (same === AT_REST) return now.count;
    await delay(LOOK_MS);
  }
}

it(
  'ten processes with short leases never hold two leases of an entity, and leave nothing stuck',
  { timeout: 300_000 },
  async () => {
    const { leases, double, stuck } = await worked('all');
    console.info(`${leases} leases, ${double} double, ${stuck} stuck`);
    expect({ double, stuck }).toEqual({ double: 0, stuck: 0 });
    expect(leases).toBeGreaterThanOrEqual(LEASES);
  },
);

it('without locks of slots the unique index holds, but events are stuck', { timeout: 300_000 }, async () => {
  const { leases, double, stuck } = await worked('unlocked');
  console.info(`without locks: ${leases} leases, ${double} double, ${stuck} stuck`);
  expect(double).toBe(0);
  expect(stuck).toBeGreaterThan(0);
});
