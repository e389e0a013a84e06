import type { EventType } from '../events/event-types.ts';
import type { EventOf } from '../events/webhook-event.ts';
import { writtenWithDecimals } from '../sender/exact-json.ts';
import { queueDeliveries } from './delivery-queue.ts';
import type { Transaction } from './store.ts';

export const EVENT_TABLES = `
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, created_at INTEGER NOT NULL, body BLOB NOT NULL
  ) STRICT;
`;

/**
 * Writes an event (interface 6.2) in the transaction that changed the state, and a delivery of it to each endpoint that wants
 * its type: no change without its event, and no event without its change. `object` is added to its data.
 *
 * @returns its id
 */
export function emit<T extends EventType>(
  transaction: Transaction,
  type: T,
  data: Omit<EventOf<T>['data'], 'object'>,
): string {
  const id = transaction.newId('evt');
  const created = new Date(transaction.now).toISOString();
  const object = type.slice(0, type.indexOf('.'));
  const body = Buffer.from(writtenWithDecimals({ id, type, created, data: { object, ...data } }));
  const sql = 'INSERT INTO events (id, type, created_at, body) VALUES (?, ?, ?, ?) RETURNING seq';
  const { seq } = transaction.get(sql, id, type, transaction.now, body) as { seq: number };
  queueDeliveries(transaction, seq, type);
  return id;
}
