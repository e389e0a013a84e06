import { Hono, type Context } from 'hono';
import { createHash } from 'node:crypto';
import { nameOf } from '../errors.ts';
import type { Logger } from '../host/logger.ts';
import { clearTimeout, setTimeout } from '../host/real-timers.ts';
import type { Assumptions } from './assumptions.ts';
import { addCartItem, createCart, getCart, updateCart, updateCartItem } from './carts.ts';
import { getCategory, listMerchants, searchProducts } from './catalogue.ts';
import { outageBody, ApiError, type OutageStatus } from './errors.ts';
import { findFault, takeFault, type FaultKind } from './faults.ts';
import { accountOf, requireKey, requirePermission, type KeyRecord } from './keys.ts';
import { countRequest, type Limit } from './limits.ts';
import { createOrder, submitOrder } from './orders.ts';
import { createSetupIntent, listPaymentMethods } from './payments.ts';
import { readRequest } from './read-request.ts';
import type { Message } from './resources.ts';
import { isAccepted, ONLY_HTTPS } from './own-page.ts';
import {
  OPERATION_NAMES,
  OPERATIONS,
  type Operation,
  type OperationName,
  type Input,
  type Result,
} from './service-operations.ts';
import type { Store, Transaction, Reading } from './store.ts';

/** What the service is made of. */
interface AppOptions {
  readonly store: Store;
  readonly assumptions: Assumptions;
  readonly limits: readonly Limit[];
  readonly requestIds: RequestIds;
  readonly logger: Logger;
  /** aborted when the sandbox closes: what waits ends then */
  readonly closing: AbortSignal;
}

interface Env {
  readonly Variables: { requestId: string; key: KeyRecord };
}

/** What a handler has to say: an answer, or a refusal that is committed. */
type Outcome = ApiError | { readonly data: unknown; readonly messages?: readonly Message[]; readonly total?: number };

/** An answer of section 7 for which 7.3 has no code. */
class Outage extends Error {
  override readonly name = 'Outage';
  readonly status: OutageStatus;

  constructor(status: OutageStatus) {
    super();
    this.status = status;
  }
}

/** The twelve operations over HTTP. Each request passes the checks in the order of A9. */
export function createApp({ store, assumptions, limits, requestIds, logger, closing }: AppOptions): Hono<Env> {
  const app = new Hono<Env>();
  const { signedUpMs } = accountOf(store);

  app.use(async (c, next) => {
    c.set('requestId', requestIds.next());
    if (closing.aborted) throw new Outage(503);
    if (!isAccepted(c.req.raw, c.env, assumptions)) {
      throw new ApiError('INSUFFICIENT_PERMISSIONS', ONLY_HTTPS, {});
    }
    const key = requireKey(store, c.req.header('authorization'), store.clock.now());
    c.set('key', key);
    if (limits.length > 0) {
      const { resetAsIso } = assumptions;
      const { headers, refusal } = store.write((tx) => countRequest(tx, key.id, limits, { signedUpMs, resetAsIso }));
      for (const [name, value] of Object.entries(headers)) c.header(name, value);
      if (refusal !== null) throw refusal;
    }
    await next();
  });

  for (const name of OPERATION_NAMES) {
    const operation: Operation = OPERATIONS[name];
    for (const path of [operation.path, operation.alias]) {
      if (path === undefined) continue;
      app.on(operation.method, path.replaceAll(/\{(\w+)\}/g, ':$1'), (c) => answer(c, name, operation));
    }
  }

  app.notFound((c) => {
    const extras = { resource_type: 'path', resource_id: c.req.path };
    return refuse(c, new ApiError('RESOURCE_NOT_FOUND', 'Unknown operation.', extras));
  });
  app.onError((failure, c) => {
    if (failure instanceof ApiError) return refuse(c, failure);
    const status = failure instanceof Outage ? failure.status : 500;
    if (!(failure instanceof Outage)) {
      logger.error({ request: c.get('requestId'), error: nameOf(failure) }, 'the sandbox could not answer a request');
    }
    return c.json(outageBody(status, c.get('requestId')), status);
  });
  return app;

  async function answer(c: Context<Env>, name: OperationName, operation: Operation): Promise<Response> {
    requirePermission(c.get('key'), operation.permission);
    await faultsBefore(name, c.req.raw);
    const sent = await readRequest(operation, c.req.raw, assumptions.maxBodyBytes);
    if (closing.aborted) throw new Outage(503);
    const { outcome, fault } = perform(name, { ...sent, params: c.req.param() } as CheckedInput, {
      assumptions,
      origin: new URL(c.req.url).origin,
    });
    if (outcome instanceof ApiError) throw outcome;
    if (fault?.kind === 'lost-answer') await new Promise((_, reject) => untilGivenUp(c.req.raw.signal, reject));
    if (fault !== null) throw new Outage(fault.status ?? 504);
    const { data, messages = [], total } = outcome;
    return c.json({ data, messages, ...(total !== undefined && { total }) }, operation.status);
  }

  /** What goes wrong before anything has happened. */
  async function faultsBefore(name: OperationName, request: Request): Promise<void> {
    const take = (kind: FaultKind) =>
      findFault(store, name, [kind]) === null ? null : store.write((tx) => takeFault(tx, name, kind));
    const slow = take('slow');
    if (slow !== null) await wait(slow.ms ?? 0, request.signal);
    const outage = take('before');
    if (outage !== null) throw new Outage(outage.status ?? 503);
  }

  /** In one transaction with what goes wrong afterwards: only what has happened uses such a fault up. */
  function perform(name: OperationName, input: CheckedInput, around: Surroundings) {
    if (isRead(name)) {
      const outcome: Outcome = READERS[name](store, input, around);
      const fault = findFault(store, name, AFTERWARDS);
      return { outcome, fault: fault && store.write((tx) => takeFault(tx, name, ...AFTERWARDS)) };
    }
    return store.write((tx: Transaction) => {
      const outcome: Outcome = WRITERS[name](tx, input, around);
      return { outcome, fault: outcome instanceof ApiError ? null : takeFault(tx, name, ...AFTERWARDS) };
    });
  }

  /** Real time: it is the client's patience that is tried. */
  function wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      untilGivenUp(signal, (reason) => {
        clearTimeout(timer);
        reject(reason);
      });
    });
  }

  function untilGivenUp(signal: AbortSignal, giveUp: (reason: Error) => void): void {
    const either = AbortSignal.any([signal, closing]);
    const end = (): void => giveUp(new Outage(503));
    if (either.aborted) end();
    else either.addEventListener('abort', end, { once: true });
  }
}

const AFTERWARDS: readonly FaultKind[] = ['after', 'lost-answer'];

function isRead(name: OperationName): name is ReadName {
  return Object.hasOwn(READERS, name);
}

function refuse(c: Context<Env>, refusal: ApiError): Response {
  return c.json(refusal.body(c.get('requestId')), refusal.status);
}

/** What an operation needs to know beside its input. */
interface Surroundings {
  readonly assumptions: Assumptions;
  /** the base address that the request came to */
  readonly origin: string;
}

/** Operations that change nothing. */
type ReadName = {
  [Name in OperationName]: (typeof OPERATIONS)[Name]['method'] extends 'GET' ? Name : never;
}[OperationName];

/** Operations that may change something. */
type WriteName = Exclude<OperationName, ReadName>;

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
type CheckedInput = AllOf<{ [Name in OperationName]: Input<Name> }[OperationName]>;

const READERS: Readers = {
  getCart: (db, { params }) => ({ data: getCart(db, params.id) }),
  listPaymentMethods: (db, { query }) => ({ data: [...listPaymentMethods(db, query.merchant_id)] }),
  listMerchants: (db, { query }, { assumptions }) => listMerchants(db, query, assumptions),
  getCategory: (db, { params }) => ({ data: getCategory(db, params) }),
  searchProducts: (db, { query }, { assumptions }) => ({ data: [...searchProducts(db, query, assumptions)] }),
};

const WRITERS: Writers = {
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

/** Names requests (interface 7.2): the same calls get the same names, and no two requests one. */
interface RequestIds {
  next(): string;
}

/** Only the opening of the sandbox is written, so that a request that changes nothing writes nothing. */
export function createRequestIds(store: Store): RequestIds {
  const opening = store.write((tx) => tx.newId('opening'));
  let count = 0;
  return {
    next() {
      count += 1;
      return `req_${createHash('sha256').update(`${opening}/${count}`).digest('hex').slice(0, 16)}`;
    },
  };
}
