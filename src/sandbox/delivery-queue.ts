import { setDue } from './due.ts';
import type { Transaction } from './store.ts';

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
