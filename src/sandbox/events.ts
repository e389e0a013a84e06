import { ConfigurationError, messageOf } from '../errors.ts';
import type { EventType } from '../events/event-types.ts';
import type { EventOf } from '../events/webhook-event.ts';
import { kindOf } from '../known-options.ts';
import { oneLine } from '../printable.ts';
import { writtenWithDecimals } from '../sender/event-json.ts';
import { setDue } from './due.ts';
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
  const object = type.slice(0, type.indexOf('.'));
  return written(transaction, type, { object, ...data });
}

/** An event to send by hand. */
export interface EventByHand {
  readonly type: string;
  readonly data: object;
}

/**
 * Writes an event that no operation makes, such as one of a type of the merchant's own, with the data that is given and no other.
 *
 * @returns its id
 * @throws ConfigurationError `INVALID_OPTION` for a type or data that no event can have
 */
export function sendByHand(transaction: Transaction, { type, data }: EventByHand): string {
  const isName = typeof type === 'string' && type !== '' && type.length <= MOST_OF_TYPE && oneLine(type) === type;
  if (!isName) {
    const message = `type must be a string of 1 to ${MOST_OF_TYPE} characters on one line, such as 'loyalty.earned'.`;
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new ConfigurationError('INVALID_OPTION', `data must be an object, not ${kindOf(data)}.`);
  }
  try {
    return written(transaction, type, data);
  } catch (failure) {
    // Of what JSON cannot say, such as a bigint or what holds itself.
    if (!(failure instanceof TypeError)) throw failure;
    throw new ConfigurationError('INVALID_OPTION', `data must be serializable as JSON: ${messageOf(failure)}`);
  }
}

const MOST_OF_TYPE = 255;

function written(transaction: Transaction, type: string, data: object): string {
  const id = transaction.newId('evt');
  const created = new Date(transaction.now).toISOString();
  const body = Buffer.from(writtenWithDecimals({ id, type, created, data }));
  const sql = 'INSERT INTO events (id, type, created_at, body) VALUES (?, ?, ?, ?) RETURNING seq';
  const { seq } = transaction.get(sql, id, type, transaction.now, body) as { seq: number };
  queueDeliveries(transaction, seq, type);
  return id;
}

/** What is due for a delivery: its next try. */
export const TRY = 'delivery';

export const DELIVERY_TABLES = `
  CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY,
    event INTEGER NOT NULL REFERENCES events,
    endpoint TEXT NOT NULL REFERENCES endpoints (id),
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'dead', 'dropped')),
    tries INTEGER NOT NULL DEFAULT 0,
    on_schedule INTEGER NOT NULL DEFAULT 0,
    by_hand INTEGER NOT NULL DEFAULT 0 CHECK (by_hand IN (0, 1)),
    resumes_at INTEGER,
    faults TEXT,
    settled_at INTEGER,
    UNIQUE (event, endpoint),
    CHECK ((state = 'waiting') = (settled_at IS NULL))
  ) STRICT;
  CREATE INDEX deliveries_by_state ON deliveries (state, id);
  CREATE INDEX deliveries_by_endpoint ON deliveries (endpoint, state);
  CREATE TABLE tries (
    delivery INTEGER NOT NULL REFERENCES deliveries,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    status INTEGER,
    why TEXT,
    note TEXT,
    fault TEXT,
    by_hand INTEGER NOT NULL,
    PRIMARY KEY (delivery, number)
  ) STRICT, WITHOUT ROWID;
`;

/** Has an event tried at once at each endpoint that wants its type. */
export function queueDeliveries(transaction: Transaction, event: number, type: string): void {
  const wanting = `SELECT id FROM endpoints WHERE removed_at IS NULL
    AND (events IS NULL OR EXISTS (SELECT 1 FROM json_each(events) WHERE value = ?)) ORDER BY seq`;
  for (const endpoint of transaction.all(wanting, type) as readonly { id: string }[]) {
    const sql = 'INSERT INTO deliveries (event, endpoint) VALUES (?, ?) RETURNING id';
    const { id } = transaction.get(sql, event, endpoint.id) as { id: number };
    setDue(transaction, TRY, String(id), transaction.now, endpoint.id);
  }
}
