import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { quoted } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { gatedPool, rewrittenPool } from './pools.ts';

const schema = schemaName();
const orders = `${quoted(schema)}.orders`;
const REQUEST = { ...EVERYTHING, now: 2_000, leaseMs: 60_000, ordered: true };
const KNOWN = incoming({ id: 'known', entity: 'e', receivedAt: 1 });
/** After this time, Postgres ends the transaction. */
const PATIENCE_MS = 300;
let pool: Pool;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl(), max: 20 });
  pool.on('error', () => {});
  await using inbox = machine();
  await inbox.list();
  await pool.query(`CREATE TABLE ${orders} (id text)`);
});

afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

beforeEach(async () => {
  await emptySchema(pool, schema);
  await pool.query(`TRUNCATE ${orders}`);
});

function machine(source: { connect(): Promise<PoolClient> } = pool, of = schema): Inbox<PoolClient> {
  return inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema: of });
}

/** A machine freezes before its next COMMIT, until it is woken. */
function standing(idleTimeout: string, of = schema) {
  const setting = /(idle_in_transaction_session_timeout = )'15s'/;
  const patient = rewrittenPool(pool, (text) => text.replace(setting, `$1'${idleTimeout}'`));
  const atCommit = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isToStop = false;
  const gated = gatedPool(patient, (text) => {
    if (text !== 'COMMIT' || !isToStop) return null;
    isToStop = false;
    atCommit.resolve();
    return goOn.promise;
  });
  // The inbox waits at its end for calls under way.
  onTestFinished(() => goOn.resolve());
  const stop = (): void => {
    isToStop = true;
  };
  return { inbox: machine(gated, of), stop, atCommit: atCommit.promise, goOn: goOn.resolve };
}

const attempt = () => ({ now: () => 2_000, signal: new AbortController().signal });
const insert = (client: PoolClient) => client.query(`INSERT INTO ${orders} VALUES ('ord_1')`);

async function written(): Promise<number> {
  return (await pool.query(`SELECT FROM ${orders}`)).rows.length;
}

it('a machine that stands still at the end of ctx.transaction holds up nobody for good; its function takes as long as it takes', async () => {
  const { inbox: still, stop, atCommit, goOn } = standing(`${PATIENCE_MS}ms`);
  await using other = machine();
  await other.accept(KNOWN, later());
  const [event] = await still.claim(REQUEST, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  const work = async (client: PoolClient) => {
    await insert(client);
    await delay(3 * PATIENCE_MS);
    stop();
  };
  const late = still.transaction(event.lease, work, attempt()).catch((failure: unknown) => failure);
  await atCommit;
  // It waits for the frozen machine's locks.
  await expect.poll(() => other.accept(KNOWN, later()).catch(() => null)).toMatchObject({ result: 'duplicate' });
  goOn();
  expect(await late).toMatchObject({ code: 'NOT_COMMITTED', message: expect.stringContaining('was not committed') });
  expect([await written(), (await other.get(KNOWN))?.state]).toEqual([0, 'processing']);
  await still.close();
});

it('while one machine keeps what is locked, another takes in new events, and answers those that it cannot look at', async () => {
  const { inbox: still, stop, atCommit, goOn } = standing('0');
  const impatient = rewrittenPool(pool, (text) => text.replace("lock_timeout = '2s'", `lock_timeout = ${PATIENCE_MS}`));
  await using other = machine(impatient);
  await other.accept(KNOWN, later());
  const [event] = await still.claim(REQUEST, 1);
  if (event === undefined) throw new Error('nothing was claimed');
  stop();
  const late = still.transaction(event.lease, insert, attempt());
  await atCommit;
  const known = other.accept(KNOWN, later()).catch((failure: unknown) => failure);
  const beside = other.accept(incoming({ id: 'beside', entity: null }), later());
  await delay(PATIENCE_MS / 3);
  const behind = other.accept(incoming({ id: 'behind', entity: null }), later());
  expect(await Promise.all([beside, behind])).toMatchObject([{ result: 'stored' }, { result: 'stored' }]);
  expect(await known).toMatchObject({ name: 'InboxUnavailableError', code: 'FAILED' });
  expect(String(await known)).toMatch(/a different process has locked the event/);
  goOn();
  await late;
  expect(await other.accept(KNOWN, later())).toMatchObject({ result: 'duplicate' });
  expect((await other.get(KNOWN))?.redeliveries.count).toBe(1);
  await still.close();
});

it('a machine that stands still while it migrates does not keep the others from it', async () => {
  const fresh = schemaName();
  onTestFinished(() => dropSchema(pool, fresh));
  const { inbox: still, stop, atCommit, goOn } = standing(`${PATIENCE_MS}ms`, fresh);
  stop();
  const late = still.list();
  await atCommit;
  await using other = machine(pool, fresh);
  expect(await other.accept(KNOWN, later())).toMatchObject({ result: 'stored' });
  goOn();
  expect(await late).toMatchObject([{ id: 'known' }]);
  await still.close();
});
