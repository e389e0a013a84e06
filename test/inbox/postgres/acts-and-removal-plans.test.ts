// @module-tag longest
/** Every statement uses an index, whatever the statistics of Postgres say. */
import { expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { prunableStates } from '../../../src/inbox/event.ts';
import { tableNames } from '../../../src/inbox/postgres/sql/tables.ts';
import { cancelBulk, listBulks, previewBulk, runBulk } from '../../../src/ops/bulks.ts';
import { eraseEntity } from '../../../src/ops/erase.ts';
import { importEvents } from '../../../src/ops/import.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { pruneEvents } from '../../../src/ops/prune.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { FAILED, handled, invalidThen } from '../../ops/events-in-states.ts';
import { ADA, exported } from '../../ops/filled-inbox.ts';
import { interferedPool } from './pools.ts';
import { operatedInboxes } from './operators.ts';
import { planFaults } from './plan-faults.ts';

const schema = operatedInboxes();
const EVENTS = 60_000;

const bodyOf = (id: string): Buffer => Buffer.from(JSON.stringify({ id, other: 1 }));

async function everything(inbox: Inbox, round: string): Promise<void> {
  const named = (name: string) => orderEvent(`${round} ${name}`, { order: `${round}_${name}` });
  await inbox.announce({ endpoints: '*', types: '*' }, START, null);
  await handled(inbox, FAILED, named('dead'), named('rerun'), named('erased'));
  await handled(inbox, { outcome: 'processed' }, named('processed'), named('again'));
  await store(inbox, named('pending'), invalidThen(named('invalid')), {
    ...named('dead'),
    body: bodyOf(`${round} dead`),
  });
  const mine = (await inbox.list({ after: 0, limit: 100_000 })).filter(({ id }) => id.startsWith(round));
  const operations = operationsOf(inbox);
  await operations.act('rerun', [named('rerun'), named('again')], ADA, { force: true });
  await operations.act('discard', [named('rerun'), named('invalid')], ADA, {});
  for (const act of ['discard', 'rerun'] as const) {
    const id = await operations.createBulk(act, {}, ADA, true);
    const seqs = mine.map(({ seq }) => seq);
    await operations.addToBulk(id, seqs);
    await operations.addToBulk(id, seqs);
    await operations.sealBulk(id);
    await runBulk(inbox, id, ADA);
  }
  const { id } = await previewBulk(inbox, 'rerun', { id: 'none' }, ADA);
  await cancelBulk(inbox, id, ADA);
  await listBulks(inbox, { before: 3 });
  await handled(inbox, FAILED, named('last'));
  await handled(inbox, { outcome: 'processed' }, named('last processed'));
  await using elsewhere = sqliteInbox(scratchFile());
  await handled(elsewhere, { outcome: 'processed' }, named('brought'));
  await handled(elsewhere, FAILED, named('brought dead'));
  await store(elsewhere, named('brought waiting'), { ...named('brought'), body: bodyOf(`${round} brought`) });
  await importEvents(inbox, await exported(elsewhere), ADA, { dryRun: true });
  await importEvents(inbox, await exported(elsewhere), ADA, { trusted: true });
  const ofDead = operations.exportPages({ id: `${round} dead` });
  for (let page = await ofDead.next(); page !== null; page = await ofDead.next()) expect(page.events).toBe(1);
  const pages = operations.exportPages({});
  await pages.next();
  await pages.end();
  await operations.bytes();
  const criteria = { settledBefore: new Date(START + 3), states: prunableStates };
  await pruneEvents(inbox, { ...criteria, endpoint: 'default', types: ['order.created'] }, ADA, { dryRun: true });
  await operations.pruneSome({ ...criteria, states: ['dead'] }, 2);
  await operations.pruneSome({ ...criteria, states: ['processed'] }, 2);
  await inbox.prune('*', START + 3, 2);
  await eraseEntity(inbox, `${round}_erased`, ADA);
  await eraseEntity(inbox, `${round}_pending`, ADA);
}

it('no statement reads a whole table, whatever the statistics say', { timeout: 300_000 }, async () => {
  const { pool, t, open } = schema();
  const seen = new Set<string>();
  await using inbox = await open(
    interferedPool(pool, (text) => {
      seen.add(text);
      return null;
    }),
  );
  /** A person starts a bulk, so there are few. */
  const isOfFew = (text: string) => text.includes(t.bulks) && text.includes("state = '");
  const scans = () =>
    planFaults(
      pool,
      t,
      [...seen].filter((text) => !isOfFew(text)),
    );
  const all = tableNames.map((name) => t[name]).join(', ');
  await everything(inbox, 'first');
  expect(seen.size).toBeGreaterThan(80);
  await pool.query(`ANALYZE ${all}`);
  expect(await scans()).toEqual([]);
  // The statistics are of an almost empty inbox.
  await pool.query(
    `INSERT INTO ${t.events} (endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body)
     SELECT 'endpoint_' || n % 3, 'filled_' || n, 'order.ready', n, 0, 'filled_' || n, n % 4096, true, n, '{}'
     FROM generate_series(1, $1::integer) AS n`,
    [EVENTS],
  );
  const filled = `FROM ${t.events} WHERE id LIKE 'filled%'`;
  await pool.query(`
    INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms)
    SELECT seq, 'dead', 'failed', endpoint, type, ${START}, 1 ${filled} AND seq % 2 = 0;
    INSERT INTO ${t.attempts} (seq, number, trigger, outcome, fence, endpoint, started_ms, ended_ms, prunable)
    SELECT seq, 1, 'auto', 'processed', 1, endpoint, 1, ${START}, true ${filled} AND seq % 2 = 1;
    INSERT INTO ${t.imported} SELECT seq, endpoint, 1, 1, 1, 0, 0, 'auto', false ${filled} AND seq % 4 = 1;
    INSERT INTO ${t.bulk_events} SELECT 1, seq, 'done' ${filled};
    INSERT INTO ${t.entities} SELECT entity, endpoint, 1, 0 ${filled}`);
  expect(await scans()).toEqual([]);
  await pool.query(`VACUUM (ANALYZE) ${all}`);
  expect(await scans()).toEqual([]);
});
