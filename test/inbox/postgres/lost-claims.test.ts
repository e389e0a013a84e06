import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING, type ClaimedEvent, type CrashedEvent } from '../../../src/inbox/work.ts';
import { incoming, later, severalIncoming } from '../../helpers/incoming-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { interferedPool } from './pools.ts';
import { withLateCommit } from './late-commit.ts';

const schema = schemaName();
const { queue, slots } = tablesIn(schema);
const request = { ...EVERYTHING, now: START, leaseMs: 60_000, ordered: true } as const;
const key = (id: string) => ({ endpoint: 'default', id });
let pool: Pool;

const machine = (source: { connect(): Promise<PoolClient> } = pool) =>
  inboxOnPostgres<PoolClient>({ pool: source }, { ...SETTINGS, schema });

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl(), max: 20 });
  pool.on('error', () => {});
  await using inbox = machine();
  await inbox.list();
});
afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});
beforeEach(() => emptySchema(pool, schema));

/** While `isLossy`, COMMITs succeed without an answer. */
function lossy(): { readonly inbox: Inbox<PoolClient>; isLossy: boolean } {
  const machineOf = { inbox: machine(interferedPool(pool, interfere)), isLossy: false };
  function interfere(text: string) {
    return machineOf.isLossy && text === 'COMMIT' ? 'unanswered' : null;
  }
  return machineOf;
}

const outcomes = async (inbox: Inbox<PoolClient>, id: string) =>
  (await inbox.attempts(key(id))).map(({ outcome }) => outcome);
const idsOf = (claimed: readonly ClaimedEvent[]) => claimed.map(({ id }) => id).toSorted();

async function transactionsOnSlots(): Promise<number | null> {
  return (await pool.query('SELECT 1 FROM pg_locks WHERE relation = $1::regclass', [slots])).rowCount;
}

async function leases(): Promise<number | null> {
  return (await pool.query(`SELECT 1 FROM ${queue} WHERE lease_until_ms IS NOT NULL`)).rowCount;
}

describe('a claim whose COMMIT is still under way without its connection', () => {
  it.each(['order', null])(
    'is waited for by the next claim, which gives its lease back (entity: %s)',
    async (entity) => {
      await using other = machine();
      await other.accept(incoming({ receivedAt: START, entity }), later());
      await withLateCommit(pool, schema, async (late) => {
        await using inbox = machine(late.pool);
        await inbox.list();
        late.loseNext();
        await expect(inbox.claim(request, 1)).rejects.toMatchObject({ code: 'FAILED' });
        expect(await leases()).toBe(0);
        late.reconnect();
        const claiming = inbox.claim(request, 1);
        await late.waitedFor(claiming);
        await late.release();
        expect(await claiming).toMatchObject([{ id: 'evt_1', attempt: 2, failures: 0 }]);
        expect(await outcomes(inbox, 'evt_1')).toEqual(['interrupted']);
      });
    },
  );

  it('has found a crash: the next claim waits for it and reports the crash once', async () => {
    await using other = machine();
    await other.accept(incoming({ receivedAt: START }), later());
    await other.claim({ ...request, leaseMs: 1_000 }, 1);
    await withLateCommit(pool, schema, async (late) => {
      await using inbox = machine(late.pool);
      await inbox.list();
      const told: CrashedEvent[] = [];
      const tell = (crashed: readonly CrashedEvent[]) => void told.push(...crashed);
      // Its endpoint has no events.
      const elsewhere = { ...request, endpoints: ['elsewhere'], now: START + 2_000 };
      late.loseNext();
      await expect(inbox.claim(elsewhere, 1, tell)).rejects.toMatchObject({ code: 'FAILED' });
      late.reconnect();
      const claiming = inbox.claim(elsewhere, 1, tell);
      await late.waitedFor(claiming);
      await late.release();
      await claiming;
      for (let n = 0; n < 2; n += 1) await inbox.claim(elsewhere, 1, tell);
      expect(told).toMatchObject([{ id: 'evt_1', attempt: 1, deadReason: null }]);
    });
  });
});

it('claims that are lost several times give back what each of them has leased', async () => {
  const lost = lossy();
  await using inbox = lost.inbox;
  await Promise.all(
    severalIncoming(3, { entity: null, receivedAt: START }).map((event) => inbox.accept(event, later())),
  );
  for (let n = 1; n <= 3; n += 1) {
    lost.isLossy = true;
    await expect(inbox.claim(request, n)).rejects.toMatchObject({ code: 'FAILED' });
    lost.isLossy = false;
  }
  const claimed = await inbox.claim(request, 9);
  expect(idsOf(claimed)).toEqual(['evt_0', 'evt_1', 'evt_2']);
  expect(claimed.map(({ failures }) => failures)).toEqual([0, 0, 0]);
  for (const { lease } of claimed) expect(await inbox.settle(lease, { outcome: 'processed' }, START)).toBe(true);
});

it('a lost claim and lost starts are given back together', async () => {
  const lost = lossy();
  await using inbox = lost.inbox;
  await inbox.accept(incoming({ id: 'waiting', entity: 'waiting', receivedAt: START }), later());
  lost.isLossy = true;
  const start = (id: string) => inbox.accept(incoming({ id, entity: id, receivedAt: START }), later(), request);
  const asked = [start('one'), start('two'), inbox.claim(request, 1)];
  expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  lost.isLossy = false;
  expect(await leases()).toBe(3);
  expect(idsOf(await inbox.claim(request, 9))).toEqual(['one', 'two', 'waiting']);
  for (const id of ['one', 'two']) expect(await outcomes(inbox, id)).toEqual(['interrupted']);
});

it('two processes with lost claims at once give back their own leases, and no other', async () => {
  const [first, second] = [lossy(), lossy()];
  const lost = [first, second];
  await using one = first.inbox;
  await using two = second.inbox;
  await using three = machine();
  await Promise.all(
    severalIncoming(9, { entity: null, receivedAt: START }).map((event) => three.accept(event, later())),
  );
  const held = [];
  for (const inbox of [one, two, three]) held.push({ inbox, claimed: await inbox.claim(request, 1) });
  for (const each of lost) each.isLossy = true;
  const failing = [one, two].map((inbox) => inbox.claim(request, 2));
  expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  for (const each of lost) each.isLossy = false;
  const again = await Promise.all([one, two].map((inbox) => inbox.claim({ ...request, endpoints: ['elsewhere'] }, 9)));
  expect(again).toEqual([[], []]);
  expect(await leases()).toBe(3);
  expect(await three.claim(request, 9)).toHaveLength(6);
  for (const { inbox, claimed } of held) {
    for (const { lease } of claimed) expect(await inbox.settle(lease, { outcome: 'processed' }, START)).toBe(true);
  }
});

it('a claim that never reached its COMMIT keeps the next one waiting for nothing', async () => {
  let isCut = false;
  await using inbox = machine(
    interferedPool(pool, (text) => (isCut && text.includes('lease_until_ms = $3') ? 'unanswered' : null)),
  );
  await inbox.accept(incoming({ receivedAt: START }), later());
  isCut = true;
  await expect(inbox.claim(request, 1)).rejects.toMatchObject({ code: 'FAILED' });
  isCut = false;
  // The transaction holds the event until the server notices the lost connection.
  await expect.poll(transactionsOnSlots).toBe(0);
  expect(await inbox.claim(request, 1)).toMatchObject([{ id: 'evt_1', attempt: 1 }]);
});
