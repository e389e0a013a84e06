import type { SqliteDatabase } from '../../src/inbox/sqlite/opening/database.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { EventKey, IncomingEvent } from '../../src/inbox/event.ts';
import type { ClaimedEvent, Settlement } from '../../src/inbox/work.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { defineIdHash } from '../../src/inbox/sqlite/sql/statement.ts';
import { auditLines, discardEvents, type AuditLine } from '../../src/ops/index.ts';

export const failure = { name: 'Error', message: 'the shop is down', stack: 'Error: the shop is down' };
export const FAILED = { outcome: 'dead', reason: 'failed', error: failure } satisfies Settlement;
export const RETRY = { outcome: 'retry', error: failure, dueAt: START + 3_600_000 } satisfies Settlement;

export const ANY = { endpoints: '*', types: '*', ordered: false, leaseMs: 60_000 } as const;

export async function handled(
  inbox: Inbox,
  settlement: Settlement,
  ...events: readonly IncomingEvent[]
): Promise<void> {
  await store(inbox, ...events);
  await handleAgain(inbox, settlement, ...events);
}

export async function handleAgain(
  inbox: Inbox,
  settlement: Settlement,
  ...events: readonly IncomingEvent[]
): Promise<void> {
  for (const event of events) await attempt(inbox, event, settlement, START + 1, START + 2);
}

export async function attempt(
  inbox: Inbox,
  event: EventKey,
  settlement: Settlement,
  now: number,
  endedAt = now,
): Promise<void> {
  const { lease } = await claimed(inbox, event, now);
  await inbox.settle(lease, settlement, endedAt);
}

export async function claimed(inbox: Inbox, event: EventKey, now = START + 1): Promise<ClaimedEvent> {
  const found = await inbox.claimOne(event, { ...ANY, now });
  if (typeof found === 'string') throw new Error(`${event.id} is ${found}`);
  return found;
}

/** Claims an event and commits a transaction of its handler, which runs on. */
export async function committed(inbox: Inbox, event: EventKey, now = START + 1): Promise<ClaimedEvent> {
  const found = await claimed(inbox, event, now);
  await inbox.transaction(found.lease, () => undefined as never, {
    now: () => now + 1,
    signal: new AbortController().signal,
  });
  return found;
}

export async function auditOf(inbox: Inbox): Promise<readonly AuditLine[]> {
  return (await auditLines(inbox)).lines;
}

export function key(id: string): EventKey {
  return { endpoint: 'default', id };
}

/** One that was stored when the schemas were stricter. */
export function invalidThen(event: IncomingEvent): IncomingEvent {
  return { ...event, type: null, created: null, entity: null, valid: false };
}

/** An event in each state that there is, by how the tests call it; `buries` does what pruning does. */
export const inStates = {
  pending: (inbox) => store(inbox, orderEvent('evt')),
  retrying: (inbox) => handled(inbox, RETRY, orderEvent('evt')),
  'in processing': async (inbox) => {
    await store(inbox, orderEvent('evt'));
    await claimed(inbox, key('evt'));
  },
  processed: (inbox) => handled(inbox, { outcome: 'processed' }, orderEvent('evt')),
  'processed, its handler running': async (inbox) => {
    await store(inbox, orderEvent('evt'));
    await committed(inbox, key('evt'));
  },
  'dead (failed)': (inbox) => handled(inbox, FAILED, orderEvent('evt')),
  'dead (crashed)': async (inbox) => {
    await store(inbox, orderEvent('evt'));
    for (let crash = 0; crash < 3; crash += 1) {
      await inbox.claimOne(orderEvent('evt'), { ...ANY, leaseMs: 1, now: START + crash * 10 });
    }
    await inbox.claim({ ...ANY, types: [], now: START + 100 }, 1);
  },
  'dead (invalid)': (inbox) => store(inbox, { ...invalidThen(orderEvent('evt')), body: Buffer.from('{"id":"evt"}') }),
  'dead (invalid), which fits today': (inbox) => store(inbox, invalidThen(orderEvent('evt'))),
  ignored: async (inbox) => {
    await store(inbox, orderEvent('evt'));
    await inbox.announce({ endpoints: '*', types: ['order.ready'] }, START + 3_600_000, START + 3_000_000);
  },
  discarded: async (inbox) => {
    await store(inbox, orderEvent('evt'));
    await discardEvents(inbox, [orderEvent('evt')], { actor: 'ada', now: START + 3_600_000 });
  },
  'processed and pruned': async (inbox, buries) => {
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt'));
    await buries('evt');
  },
  'dead (failed) and pruned': async (inbox, buries) => {
    await handled(inbox, FAILED, orderEvent('evt'));
    await buries('evt');
  },
  'dead (invalid) and pruned': async (inbox, buries) => {
    await inbox.accept(invalidThen(orderEvent('evt')), later());
    await buries('evt');
  },
  'discarded and pruned': async (inbox, buries) => {
    await handled(inbox, FAILED, orderEvent('evt'));
    await discardEvents(inbox, [orderEvent('evt')], { actor: 'ada', now: START + 3_600_000 });
    await buries('evt');
  },
} satisfies Record<string, (inbox: Inbox, buries: (id: string) => unknown) => Promise<void>>;

/** Puts many dead events into the file at once, each with its one attempt, without running anything. */
export function plantDead(database: SqliteDatabase, ...events: readonly IncomingEvent[]): void {
  defineIdHash(database);
  const insert = database.prepare(`
    INSERT INTO hookbox_events (endpoint, id, id_hash, type, created_ms, created_ns, entity, verified, state,
      dead_reason, received_ms, due_ms, settled_ms, attempts, failures, body)
    VALUES (?, ?, hookbox_id_hash(?), ?, ?, ?, ?, 1, 'dead', 'failed', ?, ?, ?, 1, 1, ?)
  `);
  const attempt = database.prepare(`
    INSERT INTO hookbox_attempts
      (seq, number, trigger, outcome, started_ms, ended_ms, error_name, error_message, error_stack)
    VALUES (?, 1, 'auto', 'failed', ?, ?, 'Error', 'the shop is down', NULL)
  `);
  database.exec('BEGIN IMMEDIATE');
  for (const { endpoint, id, type, created, entity, receivedAt, body } of events) {
    const key = [endpoint, id, id, type, created?.ms, created?.ns, entity] as const;
    const { lastInsertRowid } = insert.run(...key, receivedAt, receivedAt, receivedAt + 2, body);
    attempt.run(lastInsertRowid, receivedAt + 1, receivedAt + 2);
  }
  database.exec('COMMIT');
}

export function bury(database: SqliteDatabase, id: string): void {
  database.prepare("UPDATE hookbox_events SET body = NULL, body_sha256 = x'00' WHERE id = ?").run(id);
}
