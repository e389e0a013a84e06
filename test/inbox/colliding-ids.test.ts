import Database from 'better-sqlite3';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { eraseEntity } from '../../src/ops/erase.ts';
import { exportEvents } from '../../src/ops/export.ts';
import { findEvents } from '../../src/ops/find-by-text.ts';
import { getEvent, listEvents } from '../../src/ops/find.ts';
import { importEvents } from '../../src/ops/import.ts';
import { pruneEvents } from '../../src/ops/prune.ts';
import { rerunEvents } from '../../src/ops/act-on-events.ts';
import { later } from '../helpers/incoming-event.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

vi.mock('../../src/inbox/sqlite/sql/statement.ts', async (original) => ({
  ...(await original<object>()),
  defineIdHash: (database: Database.Database) =>
    database.function('hookbox_id_hash', { deterministic: true }, (_id: unknown) => 7),
  idHashOf: () => () => 7,
}));

const ADA = { actor: 'ada' };
const IDS = ['evt_1', 'evt_2', 'evt_3'];
const keyOf = (id: string) => ({ endpoint: 'default', id });
let file: string;
let inbox: Inbox;

beforeEach(async () => {
  file = scratchFile();
  inbox = sqliteInbox(file);
  onTestFinished(() => inbox.close());
  for (const id of IDS) await inbox.accept(orderEvent(id, { order: id }), later());
});

const statesOf = async (of: Inbox = inbox) => (await of.list()).map(({ id, state }) => [id, state]);

it('each is stored, and has one hash', async () => {
  const database = new Database(file, { readonly: true });
  onTestFinished(() => void database.close());
  expect(database.prepare('SELECT DISTINCT id_hash FROM hookbox_events').pluck().all()).toEqual([7]);
  expect(await statesOf()).toEqual(IDS.map((id) => [id, 'pending']));
});

it('a redelivery, and another body under an id, are counted at their own event', async () => {
  expect(await inbox.accept(orderEvent('evt_2', { order: 'evt_2' }), later())).toMatchObject({
    result: 'duplicate',
    conflict: false,
  });
  expect(await inbox.accept(orderEvent('evt_3', { order: 'other' }), later())).toMatchObject({ conflict: true });
  expect(await inbox.accept({ ...orderEvent('evt_2'), endpoint: 'second' }, later())).toMatchObject({
    result: 'stored',
  });
  const { events } = await listEvents(inbox, {}, { order: 'oldest' });
  expect(events.map(({ id, redeliveries, conflicts }) => [id, redeliveries, conflicts])).toEqual([
    ['evt_1', 0, 0],
    ['evt_2', 1, 0],
    ['evt_3', 1, 1],
    ['evt_2', 0, 0],
  ]);
});

it('a search by id, and a look at an event, find that one', async () => {
  expect((await listEvents(inbox, { id: 'evt_2' })).events.map(({ id }) => id)).toEqual(['evt_2']);
  expect((await findEvents(inbox, 'evt_2')).events.map(({ id }) => id)).toEqual(['evt_2']);
  expect(await getEvent(inbox, keyOf('evt_3'))).toMatchObject({ event: { id: 'evt_3' } });
  expect(await getEvent(inbox, keyOf('evt_4'))).toBeNull();
});

it('pruning, erasing and rerunning touch the event they name', async () => {
  const now = Date.now() + 1_000;
  const scope = { endpoints: '*', types: '*', now, leaseMs: 1_000, ordered: true } as never;
  for (const { lease } of await inbox.claim(scope, 3)) await inbox.settle(lease, { outcome: 'processed' }, now);
  await eraseEntity(inbox, 'order::evt_2', ADA);
  const left = await inbox.list();
  expect(left.map(({ id, body }) => [id, body !== null])).toEqual([
    ['evt_1', true],
    ['evt_2', false],
    ['evt_3', true],
  ]);
  expect(await rerunEvents(inbox, [keyOf('evt_3')], ADA, { force: true })).toMatchObject({ counts: { done: 1 } });
  expect(await statesOf()).toEqual([
    ['evt_1', 'processed'],
    ['evt_2', 'processed'],
    ['evt_3', 'pending'],
  ]);
  await pruneEvents(inbox, { settledBefore: new Date(now + 1) }, ADA);
  expect((await inbox.list()).map(({ body }) => body !== null)).toEqual([false, false, true]);
});

it('an import brings each once', async () => {
  const lines: string[] = [];
  for await (const line of exportEvents(inbox, ADA)) lines.push(line);
  await using copy = sqliteInbox(scratchFile());
  await copy.accept(orderEvent('evt_2', { order: 'evt_2' }), later());
  expect(await importEvents(copy, lines, ADA, { trusted: true })).toMatchObject({ imported: 2, known: 1 });
  expect(new Map((await statesOf(copy)) as [string, string][])).toEqual(new Map(IDS.map((id) => [id, 'pending'])));
});
