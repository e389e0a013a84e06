import type { Assumptions } from './assumptions.ts';
import { addCartItem, createCart, getCart, updateCart, updateCartItem } from './carts.ts';
import { getCategory, listMerchants, searchProducts } from './catalogue.ts';
import { ApiError } from './errors.ts';
import type { Input, OPERATIONS, OperationName, Result } from './service-operations.ts';
import { createOrder, submitOrder } from './orders.ts';
import { createSetupIntent, listPaymentMethods } from './payments.ts';
import type { Reading, Transaction } from './store.ts';

/** What an operation needs to know beside its input. */
export interface Surroundings {
  readonly assumptions: Assumptions;
  /** the base address that the request came to */
  readonly origin: string;
}

/** Operations that change nothing. */
export type ReadName = {
  [Name in OperationName]: (typeof OPERATIONS)[Name]['method'] extends 'GET' ? Name : never;
}[OperationName];

/** Operations that may change something. */
export type WriteName = Exclude<OperationName, ReadName>;

type Readers = {
  readonly [Name in ReadName]: (db: Reading, input: Input<Name>, around: Surroundings) => Result<Name>;
};

/** A refusal that is returned is committed; one that is thrown takes everything back. */
type Writers = {
  readonly [Name in WriteName]: (tx: Transaction, input: Input<Name>, around: Surroundings) => Result<Name> | ApiError;
};

type AllOf<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** An input that the operation's own schemas have checked; a type cannot tell which one it was sent to. */
export type CheckedInput = AllOf<{ [Name in OperationName]: Input<Name> }[OperationName]>;

export const READERS: Readers = {
  getCart: (db, { params }) => ({ data: getCart(db, params.id) }),
  listPaymentMethods: (db, { query }) => ({ data: [...listPaymentMethods(db, query.merchant_id)] }),
  listMerchants: (db, { query }, { assumptions }) => listMerchants(db, query, assumptions),
  getCategory: (db, { params }) => ({ data: getCategory(db, params) }),
  searchProducts: (db, { query }, { assumptions }) => ({ data: [...searchProducts(db, query, assumptions)] }),
};

export const WRITERS: Writers = {
  createCart: (tx, { body }, { assumptions }) => ({ data: createCart(tx, body, assumptions) }),
  updateCart: (tx, { params, body }) => ({ data: updateCart(tx, params.id, body.status) }),
  addCartItem: (tx, { params, body }, { assumptions }) => addCartItem(tx, params.id, body, assumptions),
  updateCartItem: (tx, { params, body }, { assumptions }) => updateCartItem(tx, params, body.quantity, assumptions),
  createOrder: (tx, { body }, { assumptions }) => ({ data: createOrder(tx, body, assumptions) }),
  submitOrder(tx, { params, body }, { assumptions }) {
    const outcome = submitOrder(tx, params.orderId, body.payment_method_id, assumptions);
    return outcome instanceof ApiError ? outcome : { data: outcome };
  },
  createSetupIntent: (tx, { body }, { origin }) => ({ data: createSetupIntent(tx, body.merchant_id, origin) }),
};
