import { ConfigurationError, messageOf } from '../errors.ts';
import type { EventType } from '../events/event-types.ts';
import type { EventOf } from '../events/webhook-event.ts';
import { kindOf } from '../option-rules.ts';
import { oneLine } from '../printable.ts';
import { writtenWithDecimals } from '../sender/event-json.ts';
import { setDue } from './due.ts';
import type { Transaction } from './store.ts';

export const EVENT_TABLES = `
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, created_at INTEGER NOT NULL, body BLOB NOT NULL
  ) STRICT;
`;

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

export const TRY = 'delivery';

/** Writes an event (interface 6.2) and its deliveries in the transaction of the change. Adds `object` to the data. */
export function emit<T extends EventType>(tx: Transaction, type: T, data: Omit<EventOf<T>['data'], 'object'>): string {
  return write(tx, type, { object: type.slice(0, type.indexOf('.')), ...data });
}

/** An event to send by hand. */
export interface EventByHand {
  readonly type: string;
  readonly data: object;
}

const MOST_OF_TYPE = 255;

/** It has exactly the given data. */
export function sendByHand(tx: Transaction, { type, data }: EventByHand): string {
  const isName = typeof type === 'string' && type !== '' && type.length <= MOST_OF_TYPE && oneLine(type) === type;
  if (!isName) {
    const message = `type must be a string of 1 to ${MOST_OF_TYPE} characters on one line, such as 'loyalty.earned'.`;
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new ConfigurationError('INVALID_OPTION', `data must be an object, not ${kindOf(data)}.`);
  }
  try {
    return write(tx, type, data);
  } catch (failure) {
    // JSON.stringify throws it for a bigint or a cycle.
    if (!(failure instanceof TypeError)) throw failure;
    throw new ConfigurationError('INVALID_OPTION', `data must be serializable as JSON: ${messageOf(failure)}`);
  }
}

function write(tx: Transaction, type: string, data: object): string {
  const id = tx.newId('evt');
  const created = new Date(tx.now).toISOString();
  const body = Buffer.from(writtenWithDecimals({ id, type, created, data }));
  const sql = 'INSERT INTO events (id, type, created_at, body) VALUES (?, ?, ?, ?) RETURNING seq';
  const { seq } = tx.get(sql, id, type, tx.now, body) as { seq: number };
  const wanting = `SELECT id FROM endpoints WHERE removed_at IS NULL
    AND (events IS NULL OR EXISTS (SELECT 1 FROM json_each(events) WHERE value = ?)) ORDER BY seq`;
  for (const endpoint of tx.all<{ id: string }>(wanting, type)) {
    const queue = 'INSERT INTO deliveries (event, endpoint) VALUES (?, ?) RETURNING id';
    const delivery = tx.get(queue, seq, endpoint.id) as { id: number };
    setDue(tx, TRY, String(delivery.id), tx.now, endpoint.id);
  }
  return id;
}
