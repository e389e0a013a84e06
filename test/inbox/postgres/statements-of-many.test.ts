/** Many events take no more round trips than few. */
import { Pool, type PoolClient } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { dropSchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { proxiedPool } from './pools.ts';

const REQUEST = { ...EVERYTHING, now: START, leaseMs: 60_000, ordered: true };

async function countedInbox() {
  const pool = new Pool({ connectionString: await postgresUrl() });
  const schema = schemaName();
  onTestFinished(async () => {
    await dropSchema(pool, schema);
    await pool.end();
  });
  let statements = 0;
  const counted = proxiedPool(pool, (client) => ({
    query(asked) {
      statements += 1;
      return client.query(asked);
    },
  }));
  const inbox = inboxOnPostgres<PoolClient>({ pool: counted }, { ...SETTINGS, schema });
  await inbox.announce(EVERYTHING, START, null);
  const during = async <T>(work: Promise<T>): Promise<{ answer: T; took: number }> => {
    const before = statements;
    const answer = await work;
    return { answer, took: statements - before };
  };
  return { inbox, during };
}

/** For claims, the ends of attempts, and the next claims. */
async function statementsFor(orders: number): Promise<Record<'claimed' | 'settled' | 'claimedNext', number>> {
  const { inbox, during } = await countedInbox();
  await using _ = inbox;
  const all = Array.from({ length: 2 * orders }, (_, n) => ({
    id: `evt_${n}`,
    entity: `order_${n % orders}`,
    created: { ms: n, ns: 0 },
    receivedAt: START,
  }));
  await Promise.all(all.map((event) => inbox.accept(incoming(event), later())));

  const first = await during(inbox.claim(REQUEST, 2 * orders));
  expect(first.answer).toHaveLength(orders);
  const ends = first.answer.map(({ lease }) => inbox.settle(lease, { outcome: 'processed' }, START));
  const settled = await during(Promise.all(ends));
  expect(settled.answer).toEqual(ends.map(() => true));
  const next = await during(inbox.claim(REQUEST, 2 * orders));
  expect(next.answer).toHaveLength(orders);
  return { claimed: first.took, settled: settled.took, claimedNext: next.took };
}

it('forty orders are claimed, settled and go on with as many statements as two', async () => {
  expect(await statementsFor(40)).toEqual(await statementsFor(2));
});

it('a burst of two hundred is claimed with as many statements as one of twenty', async () => {
  const statementsOf = async (count: number): Promise<number> => {
    const { inbox, during } = await countedInbox();
    await using _ = inbox;
    const burst = Array.from({ length: count }, (_, n) => ({ id: `evt_${n}`, created: { ms: n, ns: 0 } }));
    await Promise.all(burst.map((event) => inbox.accept(incoming({ receivedAt: START, ...event }), later())));
    const latest = { '*': { quietMs: 0, maxMs: 0 } };
    const { answer, took } = await during(inbox.claim({ ...REQUEST, latest }, 10));
    expect(answer).toMatchObject([{ id: `evt_${count - 1}` }]);
    return took;
  };
  expect(await statementsOf(200)).toBe(await statementsOf(20));
});

/** Half of the redeliveries have other bytes. */
async function statementsAgain(events: number): Promise<number> {
  const { inbox, during } = await countedInbox();
  await using _ = inbox;
  const accept = (body?: string) =>
    Promise.all(
      Array.from({ length: events }, (_, n) =>
        inbox.accept(
          incoming({ id: `evt_${n}`, receivedAt: START, ...(n % 2 === 0 && body !== undefined && { body }) }),
          later(),
        ),
      ),
    );
  await accept();
  const { answer, took } = await during(accept('other'));
  expect(answer.filter(({ conflict }) => conflict)).toHaveLength(events / 2);
  return took;
}

it('forty redeliveries are accepted with as many statements as two', async () => {
  expect(await statementsAgain(40)).toBe(await statementsAgain(2));
});
