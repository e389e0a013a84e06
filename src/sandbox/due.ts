import type { Reading, Transaction } from './store.ts';

/** Something that happens when its time has come: one row, which is there until it has happened. */
export interface Due {
  readonly id: number;
  /** when, in milliseconds since 1970; late, where the sandbox was away */
  readonly at: number;
  /** what happens */
  readonly kind: string;
  /** to whom */
  readonly subject: string;
  /** What happens in different lanes waits for nothing but its time; of one lane only so much is under way at once. */
  readonly lane: string;
}

/** The lane of what changes the state and waits for nobody. */
export const STEPS = '';

export const DUE_TABLES = `
  CREATE TABLE due (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, lane TEXT NOT NULL,
    UNIQUE (kind, subject)
  ) STRICT;
  CREATE INDEX due_in_order ON due (at, id);
  CREATE INDEX due_in_lane ON due (lane, at, id);
`;

/** Says when something happens to somebody, in place of any time that was said before. */
export function setDue(
  transaction: Transaction,
  kind: string,
  subject: string,
  at: number,
  lane: string = STEPS,
): void {
  const sql = 'INSERT OR REPLACE INTO due (at, kind, subject, lane) VALUES (?, ?, ?, ?)';
  transaction.run(sql, at, kind, subject, lane);
}

/** Has it not happen at all. */
export function clearDue(transaction: Transaction, kind: string, subject: string): void {
  transaction.run('DELETE FROM due WHERE kind = ? AND subject = ?', kind, subject);
}

/** Has nothing happen any more that is due in a lane. */
export function clearLane(transaction: Transaction, lane: string): void {
  transaction.run('DELETE FROM due WHERE lane = ?', lane);
}

/** A coming change in the sandbox. */
export interface NextDue {
  /** On the sandbox's clock. The change happens later if it must wait for work that is still running. */
  readonly at: Date;
  /** The next state of an order, the next event of an idle cart, or the next attempt at a delivery. */
  readonly what: 'order' | 'cart' | 'delivery';
  /** The id of the order, cart or delivery. */
  readonly id: string;
}

/** What happens next, the earliest first. */
export function listDue(db: Reading, most: number): readonly NextDue[] {
  const rows = db.all('SELECT at, kind, subject FROM due ORDER BY at, id LIMIT ?', most) as readonly {
    readonly at: number;
    readonly kind: NextDue['what']; // ORDER_DUE, CART_DUE and TRY: there are no others
    readonly subject: string;
  }[];
  return rows.map(({ at, kind, subject }) => ({ at: new Date(at), what: kind, id: subject }));
}
