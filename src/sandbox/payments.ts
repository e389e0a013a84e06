import { requireMerchant, CARDS, type PaymentOutcome } from './catalogue.ts';
import { notFound, ApiError } from './errors.ts';
import { insert, type Reading, type Transaction } from './store.ts';
import { usdOf, type Cents, type PaymentMethod } from './resources.ts';

export const PAYMENT_TABLES = `
  CREATE TABLE payment_methods (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, merchant_id TEXT REFERENCES merchants (id),
    brand TEXT NOT NULL, last4 TEXT NOT NULL, exp_month INTEGER NOT NULL, exp_year INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'declined', 'insufficient_funds', 'expired'))
  ) STRICT;
  CREATE TABLE setup_intents (
    id TEXT PRIMARY KEY, merchant_id TEXT NOT NULL REFERENCES merchants (id),
    payment_method_id TEXT REFERENCES payment_methods (id), created_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE charges (
    seq INTEGER PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders (id),
    payment_method_id TEXT NOT NULL REFERENCES payment_methods (id), cents INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('charged', 'declined', 'refunded')), at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX charges_of_order ON charges (order_id);
  CREATE UNIQUE INDEX one_charge_of_order ON charges (order_id) WHERE state = 'charged';
`;

/** What a declined charge says (interface 7.3). */
const DECLINES: Readonly<Record<Exclude<PaymentOutcome, 'ok'>, string>> = {
  declined: 'generic_decline',
  insufficient_funds: 'insufficient_funds',
  expired: 'expired_card',
};

/** Why a charge is declined. */
export type DeclineOutcome = keyof typeof DECLINES;

/** All of them. */
export const DECLINE_OUTCOMES = Object.keys(DECLINES) as readonly DeclineOutcome[];

interface MethodRow {
  readonly id: string;
  readonly merchant_id: string | null;
  readonly brand: string;
  readonly last4: string;
  readonly exp_month: number;
  readonly exp_year: number;
  readonly outcome: PaymentOutcome;
}

/** Interface 4.9 and A11: those of the organization, and those of one merchant or of all. */
export function listPaymentMethods(db: Reading, merchantId: string | undefined): readonly PaymentMethod[] {
  if (merchantId !== undefined) requireMerchant(db, merchantId);
  const sql = 'SELECT * FROM payment_methods WHERE ? IS NULL OR merchant_id IS NULL OR merchant_id = ? ORDER BY seq';
  const wanted = merchantId ?? null;
  return (db.all(sql, wanted, wanted) as readonly MethodRow[]).map(({ id, brand, last4, exp_month, exp_year }) => ({
    id,
    type: 'card',
    card: { brand, last4, exp_month, exp_year },
  }));
}

/** Interface 4.8: where a payment method is collected. */
export function createSetupIntent(tx: Transaction, merchantId: string, origin: string): { readonly url: string } {
  requireMerchant(tx, merchantId);
  const id = tx.newId('seti');
  insert(tx, 'setup_intents', { id, merchant_id: merchantId, created_ms: tx.now });
  return { url: `${origin}/checkout/${id}` };
}

/** A checkout session. */
export interface SetupIntent {
  readonly merchantName: string;
  /** what it has added; `null` before */
  readonly paymentMethodId: string | null;
}

/** `null` where there is none. */
export function findSetupIntent(db: Reading, id: string): SetupIntent | null {
  const sql = `SELECT m.name AS merchantName, s.payment_method_id AS paymentMethodId
    FROM setup_intents s JOIN merchants m ON m.id = s.merchant_id WHERE s.id = ?`;
  return (db.get(sql, id) as SetupIntent | undefined) ?? null;
}

/**
 * Adds a payment method to the merchant of a checkout session. One that has added its method already adds no other.
 *
 * @returns the id of the payment method
 * @throws ApiError `RESOURCE_NOT_FOUND`
 */
export function completeSetupIntent(tx: Transaction, id: string, outcome: PaymentOutcome): string {
  const sql = 'SELECT merchant_id, payment_method_id FROM setup_intents WHERE id = ?';
  const intent = tx.get(sql, id) as { merchant_id: string; payment_method_id: string | null } | undefined;
  if (intent === undefined) throw notFound('setup_intent', id);
  if (intent.payment_method_id !== null) return intent.payment_method_id;
  const methodId = tx.newId('pm');
  insert(tx, 'payment_methods', { id: methodId, merchant_id: intent.merchant_id, ...CARDS[outcome], outcome });
  tx.run('UPDATE setup_intents SET payment_method_id = ? WHERE id = ?', methodId, id);
  return methodId;
}

/** What is charged, to what. */
export interface Charge {
  readonly orderId: string;
  readonly merchantId: string;
  readonly paymentMethodId: string;
  readonly cents: Cents;
}

/**
 * How a charge would end.
 *
 * @throws ApiError `RESOURCE_NOT_FOUND` for a method that this merchant has not
 */
export function paymentOutcome(db: Reading, { paymentMethodId, merchantId }: Charge): PaymentOutcome {
  const method = db.get('SELECT * FROM payment_methods WHERE id = ?', paymentMethodId) as MethodRow | undefined;
  const isTheirs = method !== undefined && (method.merchant_id === null || method.merchant_id === merchantId);
  if (!isTheirs) throw notFound('payment_method', paymentMethodId);
  return method.outcome;
}

/** Charges an order, or notes that it could not: the refusal to answer then, `null` when it is paid. */
export function charge(
  tx: Transaction,
  { orderId, paymentMethodId, cents }: Charge,
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

/** What was charged for an order, the oldest first. */
export function listCharges(db: Reading, orderId: string): readonly ChargeRecord[] {
  const sql = 'SELECT payment_method_id, cents, state, at_ms FROM charges WHERE order_id = ? ORDER BY seq';
  const rows = db.all(sql, orderId) as readonly {
    readonly payment_method_id: string;
    readonly cents: Cents;
    readonly state: ChargeRecord['state'];
    readonly at_ms: number;
  }[];
  return rows.map(({ payment_method_id, cents, state, at_ms }) => ({
    paymentMethodId: payment_method_id,
    amount: usdOf(cents),
    state,
    at: new Date(at_ms),
  }));
}

/** Gives back what an order was charged. */
export function refund(tx: Transaction, orderId: string): void {
  tx.run("UPDATE charges SET state = 'refunded' WHERE order_id = ? AND state = 'charged'", orderId);
}
