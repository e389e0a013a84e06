// @module-tag longest
import { expect, it, onTestFinished } from 'vitest';
import { InboxUnavailableError } from '../../../src/errors.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../../src/inbox/event.ts';
import { auditLines } from '../../../src/ops/audit.ts';
import { eraseEntity } from '../../../src/ops/erase.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { later } from '../../helpers/incoming-event.ts';
import { orderEvent, orderEvents, store } from '../../helpers/order-event.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { testErasing } from '../../ops/erasing.conformance.ts';
import { FAILED, handled } from '../../ops/events-in-states.ts';
import { interferedPool, once } from './pools.ts';
import { operatedInboxes } from './operators.ts';
import { bury, plantDead, refuse } from './planted.ts';

const schema = operatedInboxes();
const ADA = { actor: 'ada', now: START + 5 };
const EVENT = orderEvent('evt');

testErasing('erasing in Postgres', async () => {
  const { pool, t, open } = schema();
  const inbox = await open();
  const ofSchema = t.events.slice(0, t.events.indexOf('.'));
  onTestFinished(async () => {
    await inbox.close();
    await pool.query(`DROP FUNCTION IF EXISTS ${ofSchema}.act CASCADE`);
  });
  const all = async <T>(text: string): Promise<T[]> => {
    const { rows } = await pool.query<{ value: T }>(`SELECT value FROM (${text}) AS found (value)`);
    return rows.map(({ value }) => value);
  };
  return {
    inbox,
    logEmptied: null,
    plantDead: (...events) => plantDead(pool, t, ...events),
    bury: (id) => bury(pool, t, id),
    kept: async () => ({
      terms: await all<string>(`SELECT term FROM ${t.terms}`),
      entities: await all<string>(`SELECT entity FROM ${t.entities}`),
      conflicts: (await all(`SELECT 1 FROM ${t.conflicts}`)).length,
      fingerprints: (await all(`SELECT 1 FROM ${t.shelf} WHERE fingerprint IS NOT NULL`)).length,
      erased: await all<number>(`SELECT erased_ms::float8 FROM ${t.events} WHERE erased_ms IS NOT NULL`),
    }),
    breaksAt: (seq) => refuse(pool, t, `UPDATE ON ${t.events}`, `OLD.seq = ${seq}`),
    async actsMeanwhile(act, filter) {
      await pool.query(`
        CREATE FUNCTION ${ofSchema}.act() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
          INSERT INTO ${t.audit} (at_ms, actor, via, act, filter, counts) VALUES (1, 'x', 'cli', '${act}', '${filter}', '{}');
          RETURN NULL;
        END$$;
        CREATE TRIGGER act AFTER UPDATE OF erased_ms ON ${t.events} FOR EACH ROW EXECUTE FUNCTION ${ofSchema}.act()`);
    },
    /** Dead rows and the log keep older data for a while. */
    async onDisk(text) {
      const found: string[] = [];
      for (const table of Object.values(t)) {
        const { rows } = await pool.query<{ row: string }>(`SELECT found::text AS row FROM ${table} AS found`);
        const hex = Buffer.from(text).toString('hex');
        if (rows.some(({ row }) => row.includes(text) || row.includes(hex))) found.push(table);
      }
      return found;
    },
  };
});

it.each(['lost', 'unanswered'] as const)(
  'what is erased by a transaction whose COMMIT is %s is counted once, in the report and in the audit',
  async (interference) => {
    const { pool, t, open } = schema();
    const { interfere, seen } = once((text) => text === 'COMMIT', interference, Infinity);
    let erasing = false;
    let isOpen = true;
    await using inbox = await open(
      interferedPool(pool, (text) => {
        if (/SET body = NULL, body_sha256 = coalesce/.test(text)) erasing = true;
        if (!erasing || !isOpen || text !== 'COMMIT') return null;
        isOpen = false;
        return interfere(text);
      }),
    );
    await plantDead(pool, t, ...orderEvents(30, () => ({ order: 'ord_1' })));
    expect(await eraseEntity(inbox, 'ord_1', ADA)).toMatchObject({ erased: 30, inProcessing: 0 });
    expect(seen.count).toBe(1);
    expect((await auditLines(inbox)).lines).toMatchObject([{ act: 'erase', counts: { erased: 30, inProcessing: 0 } }]);
  },
);

it('an event that is claimed while it is found is left, or erased before: never both', async () => {
  const { open, join } = schema();
  for (let round = 0; round < 10; round += 1) {
    await using inbox = await open();
    await using second = join();
    await store(inbox, EVENT);
    await operationsOf(inbox).indexNew(1);
    const [report, claimed] = await Promise.all([
      operationsOf(inbox).erase('evt', ADA, {}),
      second.claimOne(EVENT, { endpoints: '*', types: '*', ordered: false, leaseMs: 60_000, now: START + 1 }),
    ]);
    const event = await inbox.get(EVENT);
    const isClaimed = typeof claimed !== 'string';
    expect([report.erased, event?.state, event?.body === null]).toEqual(
      isClaimed ? [0, 'processing', false] : [1, 'discarded', true],
    );
  }
});

/** The service sends a rejected event again. */
async function deliver(inbox: Inbox, event: IncomingEvent): Promise<void> {
  try {
    await inbox.accept(event, later());
  } catch (failure) {
    if (!(failure instanceof InboxUnavailableError)) throw failure;
    await deliver(inbox, event);
  }
}

it('what is erased beside deliveries and handlers of the same events stays erased', async () => {
  const { pool, t, open, join } = schema();
  await using inbox = await open();
  await using second = join();
  const events = orderEvents(150, (n) => ({ order: 'ord_1', createdAt: n }));
  await handled(inbox, FAILED, ...events.slice(0, 50));
  await handled(inbox, { outcome: 'processed' }, ...events.slice(50, 60));
  await store(inbox, ...events.slice(60));
  const erasing = eraseEntity(inbox, 'ord_1', ADA);
  const again = (async () => {
    for (const event of events) {
      await deliver(second, { ...event, body: Buffer.from('{"other":1}'), valid: false });
      const [claimed] = await second.claim(
        { endpoints: '*', types: '*', ordered: true, leaseMs: 60_000, now: START + 10 },
        1,
      );
      if (claimed) await second.settle(claimed.lease, { outcome: 'processed' }, START + 10);
    }
  })();
  const [report] = await Promise.all([erasing, again]);
  await eraseEntity(inbox, 'ord_1', ADA);
  expect(report.erased).toBeGreaterThan(0);
  expect((await inbox.list({ limit: 500 })).filter(({ body, entity }) => body !== null || entity !== null)).toEqual([]);
  const { rows } = await pool.query(`SELECT 1 FROM ${t.queue} UNION ALL SELECT 1 FROM ${t.entities}`);
  expect(rows).toEqual([]);
});
