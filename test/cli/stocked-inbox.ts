import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, invalidIncoming, later } from '../helpers/incoming-event.ts';
import { ownFolder, scratchFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, type Ran } from './run-hookbox.ts';
import { FAILED, handled, plantDead, RETRY } from '../ops/events-in-states.ts';
import { orderEvent, store, type OrderEventParts } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';

/** Steers a terminal, begins another line and turns the reading direction: all of it must be seen and not felt. */
export const HOSTILE = '\u001b[31mred\u009b2J\u202eright\nsecond line';
/** The bytes of `evt_exact`: numbers and escapes that parsing would lose, and a name that comes twice. */
export const EXACT =
  '{"id":"evt_exact","type":"order.ready","created":"2026-01-01T00:00:00Z",' +
  '"data":{"total":12.50,"big":12345678901234567890,"name":"T\\u00e9a","name":"Tea","email":"ada@example.com"}}\n';

export const STOCKED = [
  'evt_pruned',
  'evt_done',
  'evt_dead_1',
  'evt_dead_2',
  'evt_hostile',
  'evt_invalid',
  'evt_retrying',
  'evt_new',
  'evt_exact',
  'evt_other',
] as const;

export async function stockedInbox(file: string): Promise<void> {
  await using inbox = sqliteInbox(file);
  await stock(inbox);
}

export async function stock(inbox: Inbox): Promise<void> {
  await handled(inbox, { outcome: 'processed' }, orderEvent('evt_pruned'));
  await inbox.prune('*', Date.now(), 1);
  await handled(inbox, { outcome: 'processed' }, orderEvent('evt_done'));
  await handled(inbox, FAILED, orderEvent('evt_dead_1', { order: 'ord_42', type: 'order.ready' }));
  await handled(inbox, FAILED, orderEvent('evt_dead_2', { order: 'ord_43' }));
  const stack = `TypeError: ${HOSTILE}\n    at handle (/shop/handlers.js:7:3)`;
  const error = { name: 'TypeError', message: HOSTILE, stack };
  await handled(inbox, { outcome: 'dead', reason: 'failed', error }, orderEvent('evt_hostile'));
  await inbox.accept(invalidIncoming({ id: 'evt_invalid', body: '{"id":"evt_invalid"}', receivedAt: START }), later());
  await handled(inbox, RETRY, orderEvent('evt_retrying'));
  await store(inbox, orderEvent('evt_new', { receivedAt: Date.now() - 60_000 }));
  const exact = { id: 'evt_exact', type: 'order.ready', entity: null, body: EXACT, receivedAt: START };
  await store(inbox, incoming(exact), incoming(exact), incoming({ ...exact, body: `${EXACT} ` }));
  await store(inbox, { ...orderEvent('evt_other'), endpoint: 'shop-2' });
}

export async function stockedFolder(): Promise<string> {
  const folder = scratchFolder();
  await stockedInbox(join(folder, 'hookbox.db'));
  return folder;
}

/** For tests that only read: they may share one. */
export async function sharedStockedFolder(): Promise<Disposable & { readonly path: string }> {
  const folder = ownFolder();
  await stockedInbox(join(folder.path, 'hookbox.db'));
  return folder;
}

export async function folderOfDead(count: number, parts: OrderEventParts = {}): Promise<string> {
  const folder = scratchFolder();
  const file = join(folder, 'hookbox.db');
  await sqliteInbox(file).close();
  const database = new Database(file);
  plantDead(database, ...Array.from({ length: count }, (_, n) => orderEvent(`dead_${n}`, parts)));
  database.close();
  return folder;
}

export const STEERING = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

export function events(cwd: string, ...args: readonly string[]): Promise<Ran> {
  return runHookbox(['events', ...args], { cwd });
}

export async function inboxOf<T>(folder: string, look: (inbox: Inbox) => Promise<T>, file = 'hookbox.db'): Promise<T> {
  await using inbox = sqliteInbox(join(folder, file));
  return await look(inbox);
}

export function ndjson({ stdout }: Ran): readonly Readonly<Record<string, unknown>>[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}
