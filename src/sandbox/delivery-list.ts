import { TRY } from './events.ts';
import { countBy, whereAll, type Reading } from './store.ts';

/** `waiting` for an attempt, `delivered` with a 2xx response, `dead` after the last attempt, or `dropped` with its endpoint. */
export type DeliveryState = 'waiting' | 'delivered' | 'dead' | 'dropped';

/** A delivery of an event to an endpoint. */
export interface Delivery {
  readonly id: number;
  readonly event: {
    readonly id: string;
    /** One of the eleven types, or the type given to `events.send`. */
    readonly type: string;
    readonly createdAt: Date;
    /** The id of the order, cart or product. `null` if an event that was sent by hand names no such id. */
    readonly about: string | null;
  };
  /** The id of the endpoint. */
  readonly endpoint: string;
  readonly state: DeliveryState;
  /** The number of attempts. */
  readonly tries: number;
  /** The time of the next attempt. `null` unless the delivery is waiting. */
  readonly nextAt: Date | null;
  /** When the delivery stopped waiting. */
  readonly settledAt: Date | null;
}

/** A delivery with its body. */
export interface DeliveryRecord extends Delivery {
  /** The exact bytes that are signed and sent. */
  readonly body: Uint8Array;
}

/** One attempt at a delivery. */
export interface DeliveryTry {
  /** The number of the attempt, starting at 1. */
  readonly number: number;
  readonly at: Date;
  /** `null` without a response. */
  readonly status: number | null;
  /** Why the attempt failed; `null` for success. */
  readonly why: string | null;
  /** A remark on an accepted response. */
  readonly note: string | null;
  /** The kinds of the faults in the attempt, joined by `+`. */
  readonly fault: string | null;
  /** `true` if you requested the attempt. */
  readonly byHand: boolean;
}

/** Conditions for deliveries. */
export interface DeliveryFilter {
  readonly state?: DeliveryState;
  readonly endpoint?: string;
  /** The id of an event. */
  readonly event?: string;
  /** Only deliveries with a smaller id, for the next page. */
  readonly before?: number;
  /**
   * The maximum number of deliveries.
   *
   * @defaultValue 100
   */
  readonly limit?: number;
}

const ABOUT =
  "CAST(coalesce(CAST(e.body AS TEXT) ->> '$.data.id', CAST(e.body AS TEXT) ->> '$.data.product_id') AS TEXT)";
const COLUMNS = `d.id, e.id AS eventId, e.type, e.created_at AS createdAt, ${ABOUT} AS about, d.endpoint, d.state, d.tries,
    due.at AS nextAt, d.settled_at AS settledAt
  FROM deliveries d JOIN events e ON e.seq = d.event
  LEFT JOIN due ON due.kind = '${TRY}' AND due.subject = CAST(d.id AS TEXT)`;

interface Row {
  readonly id: number;
  readonly eventId: string;
  readonly type: string;
  readonly createdAt: number;
  readonly about: string | null;
  readonly endpoint: string;
  readonly state: DeliveryState;
  readonly tries: number;
  readonly nextAt: number | null;
  readonly settledAt: number | null;
}

/** Lists deliveries, newest first. */
export function listDeliveries(
  db: Reading,
  { state, endpoint, event, before, limit = 100 }: DeliveryFilter = {},
): readonly Delivery[] {
  const { where, values } = whereAll({
    'd.state = ?': state,
    'd.endpoint = ?': endpoint,
    'e.id = ?': event,
    'd.id < ?': before,
  });
  return db.all<Row>(`SELECT ${COLUMNS} ${where} ORDER BY d.id DESC LIMIT ?`, ...values, limit).map(deliveryOf);
}

export function findDelivery(db: Reading, id: number): DeliveryRecord | null {
  const row = db.get<Row & { readonly body: Uint8Array }>(`SELECT e.body, ${COLUMNS} WHERE d.id = ?`, id);
  return row === undefined ? null : { ...deliveryOf(row), body: row.body };
}

export function countDeliveries(db: Reading): Readonly<Record<DeliveryState, number>> {
  return countBy(db, 'deliveries', 'state', { waiting: 0, delivered: 0, dead: 0, dropped: 0 });
}

function deliveryOf(row: Row): Delivery {
  const { id, eventId, type, createdAt, about, endpoint, state, tries, nextAt, settledAt } = row;
  const event = { id: eventId, type, createdAt: new Date(createdAt), about };
  const dateOf = (at: number | null) => (at === null ? null : new Date(at));
  return { id, event, endpoint, state, tries, nextAt: dateOf(nextAt), settledAt: dateOf(settledAt) };
}

export function listTries(db: Reading, delivery: number): readonly DeliveryTry[] {
  const sql =
    'SELECT number, at, status, why, note, fault, by_hand AS byHand FROM tries WHERE delivery = ? ORDER BY number';
  type TryRow = Omit<DeliveryTry, 'at' | 'byHand'> & { readonly at: number; readonly byHand: number };
  return db.all<TryRow>(sql, delivery).map((row) => ({ ...row, at: new Date(row.at), byHand: row.byHand === 1 }));
}
