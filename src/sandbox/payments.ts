import { CARDS, merchantName, type PaymentOutcome } from './catalogue.ts';
import { notFound, ApiError } from './errors.ts';
import { usdOf, type Cents } from './resources.ts';
import type { Input, Result, Surroundings } from './service-operations.ts';
import { insert, type Reading, type Transaction } from './store.ts';

export const PAYMENT_TABLES = `
  CREATE TABLE payment_methods (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, merchant_id TEXT,
    outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'declined', 'insufficient_funds', 'expired'))
  ) STRICT;
  CREATE TABLE setup_intents (
    id TEXT PRIMARY KEY, merchant_id TEXT NOT NULL, payment_method_id TEXT REFERENCES payment_methods (id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE charges (
    seq INTEGER PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders (id),
    payment_method_id TEXT NOT NULL REFERENCES payment_methods (id), cents INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('charged', 'declined', 'refunded')), at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX charges_of_order ON charges (order_id);
  CREATE UNIQUE INDEX one_charge_of_order ON charges (order_id) WHERE state = 'charged';
`;

const DECLINES = {
  declined: 'generic_decline',
  insufficient_funds: 'insufficient_funds',
  expired: 'expired_card',
} as const satisfies Readonly<Record<Exclude<PaymentOutcome, 'ok'>, string>>;

/** Why a charge is declined. */
export type DeclineOutcome = keyof typeof DECLINES;

export const DECLINE_OUTCOMES = Object.keys(DECLINES) as readonly DeclineOutcome[];

/** Interface 4.9 and A11. */
export function listPaymentMethods(
  db: Reading,
  { query: { merchant_id: merchantId } }: Input<'listPaymentMethods'>,
): Result<'listPaymentMethods'> {
  if (merchantId !== undefined) merchantName(merchantId);
  const sql = `SELECT id, outcome FROM payment_methods
    WHERE merchant_id IS NULL OR merchant_id = coalesce(?, merchant_id) ORDER BY seq`;
  const rows = db.all<{ readonly id: string; readonly outcome: PaymentOutcome }>(sql, merchantId ?? null);
  return { data: rows.map(({ id, outcome }) => ({ id, type: 'card', card: CARDS[outcome] })) };
}

/** Interface 4.8. */
export function createSetupIntent(
  tx: Transaction,
  { body: { merchant_id } }: Input<'createSetupIntent'>,
  { origin }: Surroundings,
): Result<'createSetupIntent'> {
  merchantName(merchant_id);
  const id = tx.newId('seti');
  insert(tx, 'setup_intents', { id, merchant_id });
  return { data: { url: `${origin}/checkout/${id}` } };
}

export interface SetupIntent {
  readonly merchantId: string;
  readonly merchantName: string;
  readonly paymentMethodId: string | null;
}

export function findSetupIntent(db: Reading, id: string): SetupIntent | null {
  const sql = 'SELECT merchant_id AS merchantId, payment_method_id AS paymentMethodId FROM setup_intents WHERE id = ?';
  const row = db.get<Omit<SetupIntent, 'merchantName'>>(sql, id);
  return row === undefined ? null : { ...row, merchantName: merchantName(row.merchantId) };
}

/** A session adds at most one method. */
export function completeSetupIntent(tx: Transaction, id: string, outcome: PaymentOutcome): void {
  const intent = findSetupIntent(tx, id);
  if (intent === null) throw notFound('setup_intent', id);
  if (intent.paymentMethodId !== null) return;
  const methodId = tx.newId('pm');
  insert(tx, 'payment_methods', { id: methodId, merchant_id: intent.merchantId, outcome });
  tx.run('UPDATE setup_intents SET payment_method_id = ? WHERE id = ?', methodId, id);
}

interface Bill {
  readonly orderId: string;
  readonly merchantId: string;
  readonly paymentMethodId: string;
  readonly cents: Cents;
}

export function paymentOutcome(db: Reading, { paymentMethodId, merchantId }: Bill): PaymentOutcome {
  const sql = 'SELECT outcome FROM payment_methods WHERE id = ? AND (merchant_id IS NULL OR merchant_id = ?)';
  const method = db.get<{ readonly outcome: PaymentOutcome }>(sql, paymentMethodId, merchantId);
  if (method === undefined) throw notFound('payment_method', paymentMethodId);
  return method.outcome;
}

/** Also records a declined charge. */
export function charge(
  tx: Transaction,
  { orderId, paymentMethodId, cents }: Bill,
  outcome: PaymentOutcome,
): ApiError<'PAYMENT_FAILED'> | null {
  const state = outcome === 'ok' ? 'charged' : 'declined';
  insert(tx, 'charges', { order_id: orderId, payment_method_id: paymentMethodId, cents, state, at_ms: tx.now });
  if (outcome === 'ok') return null;
  return new ApiError('PAYMENT_FAILED', 'The payment was declined.', {
    payment_error: 'card_declined',
    decline_reason: DECLINES[outcome],
  });
}

/** A charge for an order. The charge may be declined or refunded. */
export interface ChargeRecord {
  readonly paymentMethodId: string;
  /** In USD. */
  readonly amount: number;
  readonly state: 'charged' | 'declined' | 'refunded';
  readonly at: Date;
}

export function listCharges(db: Reading, orderId: string): readonly ChargeRecord[] {
  const sql = `SELECT payment_method_id AS paymentMethodId, cents, state, at_ms AS at
    FROM charges WHERE order_id = ? ORDER BY seq`;
  type Row = Pick<ChargeRecord, 'paymentMethodId' | 'state'> & { readonly cents: Cents; readonly at: number };
  const rows = db.all<Row>(sql, orderId);
  return rows.map(({ paymentMethodId, cents, state, at }) => ({
    paymentMethodId,
    amount: usdOf(cents),
    state,
    at: new Date(at),
  }));
}

export function refund(tx: Transaction, orderId: string): void {
  tx.run("UPDATE charges SET state = 'refunded' WHERE order_id = ? AND state = 'charged'", orderId);
}
