import Database from 'better-sqlite3';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { auditLines, cancelBulk, discardEvents, getBulk, previewBulk, rerunEvents } from '../../src/ops/index.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { FAILED, handled } from './events-in-states.ts';

const NOW = START + 1_000;
const HOUR_MS = 3_600_000;
const ADA = { actor: 'ada', now: NOW };
const BULK = 1;

it.each<[string, column: string, (inbox: Inbox) => Promise<unknown>]>([
  ['a rerun', 'due_ms', (inbox) => rerunEvents(inbox, [orderEvent('dead')], ADA)],
  ['a bulk rerun', 'due_ms', (inbox) => operationsOf(inbox).advanceBulk(BULK, 10, ADA, {})],
  ['a discard', 'settled_ms', (inbox) => discardEvents(inbox, [orderEvent('dead')], ADA)],
])('%s that has waited for the database is done at the time of its commit', async (_, column, act) => {
  const database = new Database(scratchFile());
  onTestFinished(() => void database.close());
  await using inbox = sqliteInbox({ database });
  await handled(inbox, FAILED, orderEvent('dead'));
  await previewBulk(inbox, 'rerun', {}, ADA);

  await whileClockMoves(database, HOUR_MS, () => act(inbox));
  const [at] = database.prepare<[], number>(`SELECT ${column} FROM hookbox_events`).pluck().all();
  expect(near(at)).toBe(NOW + HOUR_MS);
  const { lines } = await auditLines(inbox);
  expect(near(lines[0]?.at.getTime())).toBe(NOW + HOUR_MS);
});

it('a bulk begins and ends at the time of its commits', async () => {
  const database = new Database(scratchFile());
  onTestFinished(() => void database.close());
  await using inbox = sqliteInbox({ database });
  await handled(inbox, FAILED, orderEvent('dead'));
  const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
  await previewBulk(inbox, 'rerun', {}, ADA);
  await whileClockMoves(database, HOUR_MS, () => operationsOf(inbox).advanceBulk(id, 10, ADA, {}));
  const run = await getBulk(inbox, id);
  expect([near(run?.startedAt?.getTime()), near(run?.endedAt?.getTime())]).toEqual([NOW + HOUR_MS, NOW + HOUR_MS]);
  await whileClockMoves(database, HOUR_MS, () => cancelBulk(inbox, id + 1, ADA));
  expect(near((await getBulk(inbox, id + 1))?.endedAt?.getTime())).toBe(NOW + HOUR_MS);
});

it.each<[string, (inbox: Inbox) => Promise<unknown>]>([
  ['a rerun', (inbox) => rerunEvents(inbox, [orderEvent('dead')], { actor: 'ada' })],
  ['a bulk rerun', (inbox) => operationsOf(inbox).advanceBulk(BULK, 10, { actor: 'ada' }, {})],
])('%s that has waited while the clock was set back does not have it made good twice', async (_, act) => {
  const file = scratchFile();
  const database = new Database(file);
  onTestFinished(() => void database.close());
  await using inbox = sqliteInbox({ database });
  await using elsewhere = sqliteInbox(file);
  const request = { endpoints: '*', types: '*', ordered: false, leaseMs: 3 * HOUR_MS } as const;
  const then = Date.now();
  await store(inbox, orderEvent('held'), orderEvent('dead'));
  const held = await elsewhere.claimOne(orderEvent('held'), { ...request, now: then });
  const dying = await elsewhere.claimOne(orderEvent('dead'), { ...request, now: then });
  if (typeof held === 'string' || typeof dying === 'string') throw new Error('they were not claimed');
  await elsewhere.settle(dying.lease, FAILED, then);
  await previewBulk(inbox, 'rerun', {}, ADA);

  const looking = { ...request, leaseMs: 1_000, types: [], now: then - HOUR_MS };
  await whileClockMoves(
    database,
    -HOUR_MS,
    () => act(inbox),
    () => elsewhere.claim(looking, 1),
  );
  await elsewhere.claim(looking, 1);
  const lease = database.prepare<[], number>("SELECT lease_until_ms FROM hookbox_events WHERE id = 'held'").pluck();
  expect(Math.abs((lease.get() ?? 0) - (then + 2 * HOUR_MS))).toBeLessThan(60_000);
});

/** The merchant's own transaction holds up what this connection is to write, and the clock is set meanwhile. */
async function whileClockMoves(
  database: Database.Database,
  ms: number,
  act: () => Promise<unknown>,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  database.exec('BEGIN');
  const acting = act();
  const { now } = Date;
  const spy = vi.spyOn(Date, 'now').mockImplementation(() => now() + ms);
  onTestFinished(() => spy.mockRestore());
  await meanwhile();
  database.exec('ROLLBACK');
  await acting;
  spy.mockRestore();
}

function near(ms: number | undefined): number {
  return Math.floor((ms ?? 0) / 1_000) * 1_000;
}
