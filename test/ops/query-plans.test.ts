import type Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { prunableStates } from '../../src/inbox/event.ts';
import { noteOutOfOrder } from '../../src/inbox/operator/finding/indexes.ts';
import { rowsOf, sqlite } from '../../src/inbox/sqlite/operator/access.ts';
import * as ops from '../../src/ops/index.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { orderEvent, orderEvents, store } from '../helpers/order-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { START } from '../helpers/virtual-clock.ts';
import { busyShop } from './busy-shop.ts';
import { counted, DAY, NOON } from './counted.ts';
import { FAILED, handled, invalidThen, key, plantDead } from './events-in-states.ts';
import { everyFilter } from './every-filter.ts';
import { faults, planOf, recorded } from './query-plan.ts';
import { sqliteShop } from './searched-store.ts';

const ADA = { actor: 'ada', now: START };

type Work = (inbox: Inbox, database: Database.Database) => Promise<unknown>;

/** The statements that some work runs on a new file, each with its plan. */
async function plansOf(work: Work, analysed = false, prepare?: (database: Database.Database) => unknown) {
  const database = merchantDatabase();
  await sqliteInbox({ database }).close();
  const texts = recorded(database);
  await using inbox = sqliteInbox({ database });
  const before = new Set(texts);
  prepare?.(database);
  await work(inbox, database);
  if (analysed) database.exec('ANALYZE');
  const isAsked = (sql: string): boolean =>
    !before.has(sql) && /\bhookbox_/.test(sql) && /^\s*(SELECT|WITH|DELETE|INSERT|UPDATE)/.test(sql);
  // The test itself buries events.
  const asked = [...texts].filter((sql) => isAsked(sql) && !sql.includes("body_sha256 = x'00'"));
  return asked.map((sql) => ({ sql, plan: planOf(database, sql) }));
}

const lookingFor: Work = async (inbox, database) => {
  await busyShop({ inbox, ...sqliteShop(database) }, 60);
  await noteOutOfOrder({ rows: (asked) => rowsOf(database, asked) }, sqlite, 20, 30);
  while ((await operationsOf(inbox).indexNew(20)) !== 0);
  for (const filter of everyFilter()) {
    const page = await ops.listEvents(inbox, filter, { limit: 3 });
    await ops.listEvents(inbox, filter, { limit: 3, before: page.next });
    await ops.listEvents(inbox, filter, { limit: 3, order: 'oldest' });
    await ops.countEvents(inbox, filter);
  }
  const { next, nextAt } = await ops.listEvents(inbox, {}, { limit: 3, order: 'failed' });
  await ops.listEvents(inbox, {}, { limit: 3, order: 'failed', before: next, ...(nextAt && { beforeAt: nextAt }) });
  await ops.findEvents(inbox, 'ORD_1');
  await ops.deadGroups(inbox);
  await ops.getEvent(inbox, key('evt_1'));
  await ops.auditLines(inbox, { actor: 'ada', since: new Date(START), before: 7 });
  const { events } = await ops.listEvents(inbox, { states: ['pending', 'processing'] }, { limit: 500 });
  await inbox.announce({ endpoints: '*', types: '*' }, START, null);
  const waits = await operationsOf(inbox).waits(events, START);
  expect(waits.map((wait) => wait?.reason)).toEqual(expect.arrayContaining(['later', 'running']));
};

const removing: Work = async (inbox, database) => {
  await handled(inbox, { outcome: 'processed' }, orderEvent('a'), orderEvent('b'));
  await handled(inbox, FAILED, orderEvent('c'), orderEvent('d'));
  await store(inbox, orderEvent('e'), orderEvent('f'));
  const lines: string[] = [];
  for await (const line of ops.exportEvents(inbox, ADA)) lines.push(line);
  for await (const line of ops.exportEvents(inbox, ADA, { states: ['dead'] })) expect(line).toBeDefined();
  await ops.eraseEntity(inbox, 'a', ADA);
  const criteria = { settledBefore: new Date(START + 9), states: prunableStates };
  await ops.pruneEvents(inbox, { ...criteria, types: ['none'] }, ADA);
  await ops.pruneEvents(inbox, criteria, ADA);
  await ops.importEvents(inbox, lines, ADA, { dryRun: true });
  await using source = sqliteInbox(scratchFile('other.db'));
  await store(source, orderEvent('imported'));
  const others: string[] = [];
  for await (const line of ops.exportEvents(source, ADA)) others.push(line);
  await ops.importEvents(inbox, others, ADA);
  // Of few rows, statistics say little.
  plantDead(database, ...orderEvents(300));
};

const acting: Work = async (inbox, database) => {
  plantDead(database, orderEvent('a'), orderEvent('b'));
  await store(inbox, orderEvent('c'), invalidThen(orderEvent('d')));
  await handled(inbox, { outcome: 'processed' }, orderEvent('e'));
  const { audit } = await ops.rerunEvents(inbox, ['a', 'e'].map(key), ADA, { force: true });
  const operations = operationsOf(inbox);
  await operations.recount(audit, {});
  for (const [act, finish] of [
    ['discard', ops.runBulk],
    ['rerun', ops.cancelBulk],
    ['rerun', ops.runBulk],
  ] as const) {
    const id = await operations.createBulk(act, {}, ADA, false);
    await operations.addToBulk(id, [1, 2, 3, 4, 5]);
    await operations.sealBulk(id);
    await finish(inbox, id, ADA);
  }
  await operations.createBulk('discard', {}, { ...ADA, now: START + 15 * DAY }, false);
  await ops.listBulks(inbox, { before: 3 });
  await operations.outcomePart(1, 0, 10);
  await operations.actsOn(key('a'));
};

const counting: Work = async (inbox) => {
  const operations = operationsOf(inbox);
  await operations.count([counted(NOON, 'stored', 'order.ready')]);
  await operations.coarsen(NOON + DAY);
  await operations.counts(NOON, NOON + DAY);
  await operations.totals();
  await operations.totalsIn([{ since: NOON, until: NOON + DAY }]);
  await operations.gauges();
  const rejection = { endpoint: 'default', reason: 'signature-mismatch', bytes: 1, sha256: 'a', source: null };
  await operations.noteRejected([{ ...rejection, count: 1, at: NOON }]);
  await operations.rejected(10);
  for (const what of ['began', 'goes on', 'ends'] as const)
    await operations.noteRelease({ name: 'v1', endpoint: 'default', at: NOON, what });
  await operations.noteSecret({ endpoint: 'default', after: NOON, at: NOON });
  await operations.marks(NOON, NOON + DAY);
  await operations.ping();
};

describe('no statement reads a whole table that grows', () => {
  it.each([
    ['looking for events', lookingFor, false],
    ['looking for events, with statistics of the tables', lookingFor, true],
    ['removing and moving events', removing, false],
    ['removing and moving events, with statistics of the tables', removing, true],
  ] as const)('while %s', async (_, work, analysed) => {
    const plans = await plansOf(work, analysed);
    expect(plans.flatMap(({ sql, plan }) => faults(sql, plan).map((fault) => ({ sql, fault })))).toEqual([]);
    const all = plans.map(({ sql }) => sql).join('\n');
    const isSearch = work === lookingFor;
    const tables = isSearch ? ['events', 'progress'] : ['entities', 'audit', 'bulks'];
    for (const table of ['terms', 'attempts', 'redeliveries', 'conflicts', ...tables])
      expect(all).toContain(`hookbox_${table}`);
    const used = plans.flatMap(({ plan }) => plan).join('\n');
    const ofSearch = ['dead', 'put_away', 'retrying', 'aside', 'leased', 'due_of_endpoint', 'due_of_type'];
    for (const index of ['by_id', 'put_away_at', ...(isSearch ? ofSearch : ['prunable'])])
      expect(used).toMatch(new RegExp(`INDEX hookbox_events_${index}\\b`));
  });

  /** Types and endpoints are stepped through; acts of people, and what coarsening leaves, are few. */
  const ofActs = [/^SCAN (json_each|CONSTANT|\(|hookbox_migrations|hookbox_bulks$|bulks$|types$|acts$)/];
  const ofCounts = [
    /^SCAN hookbox_events USING COVERING INDEX hookbox_events_(due_of_endpoint|retrying|leased)$/,
    /^SCAN (hookbox_counts|hookbox_rejected USING (COVERING )?INDEX hookbox_rejected_latest)$/,
    /^SCAN (CONSTANT ROW|one|endpoints|candidates|waiting|oldest( LEFT-JOIN)?|first|counted|\(subquery-\d+\))$/,
  ];
  const scans = async (work: Work, prepare?: (database: Database.Database) => unknown): Promise<readonly string[]> => {
    const plans = await plansOf(work, false, prepare);
    expect(plans.length).toBeGreaterThan(15);
    const lines = plans.flatMap(({ plan }) => plan).filter((line) => line.startsWith('SCAN'));
    return lines.filter((line) => !(work === acting ? ofActs : ofCounts).some((allowed) => allowed.test(line)));
  };

  it.each([
    ['acting on events', acting],
    ['counting', counting],
  ])('while %s', async (_, work) => {
    expect(await scans(work)).toEqual([]);
  });

  it.each([['aside'], ['due_of_type', 'due_of_endpoint'], ['retrying'], ['leased'], ['put_away']])(
    'and a missing index hookbox_events_%s would be found out',
    async (...indexes) => {
      const drop = indexes.map((index) => `DROP INDEX hookbox_events_${index};`).join('');
      expect(await scans(counting, (database) => database.exec(drop))).toContain('SCAN hookbox_events');
    },
  );
});

it.each([
  ["SELECT seq FROM hookbox_events WHERE type = 'order.created' LIMIT 5", 'SCAN hookbox_events'],
  ["SELECT seq FROM hookbox_events WHERE state = 'dead' ORDER BY received_ms LIMIT 5", 'USE TEMP B-TREE FOR ORDER BY'],
  ['SELECT count(*) FROM hookbox_events', 'SCAN hookbox_events USING COVERING INDEX'],
  ['SELECT count(*) FROM hookbox_events WHERE seq > ?', 'SEARCH hookbox_events USING INTEGER PRIMARY KEY (rowid>?)'],
  ['SELECT term FROM hookbox_terms WHERE seq = ?', 'SCAN hookbox_terms'],
  ["SELECT seq FROM hookbox_attempts WHERE error_message LIKE '%x%'", 'SCAN hookbox_attempts'],
  ['SELECT seq FROM hookbox_redeliveries WHERE count > 1', 'SCAN hookbox_redeliveries'],
])('would be found out: %s', async (sql, fault) => {
  const database = merchantDatabase();
  await sqliteInbox({ database }).close();
  expect(faults(sql, planOf(database, sql)).join('\n')).toContain(fault);
});
