import { createHash } from 'node:crypto';
import { Hono, type Context } from 'hono';
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
import { isAccepted, ONLY_HTTPS } from './own-page.ts';
import { createSetupIntent, listPaymentMethods } from './payments.ts';
import { readRequest } from './read-request.ts';
import type { Message } from './resources.ts';
import { OPERATION_NAMES, OPERATIONS } from './service-operations.ts';
import type { Input, Operation, OperationName, Result, Surroundings } from './service-operations.ts';
import type { Reading, Store, Transaction } from './store.ts';

interface AppOptions {
  readonly store: Store;
  readonly assumptions: Assumptions;
  readonly limits: readonly Limit[];
  readonly logger: Logger;
  readonly closing: AbortSignal;
}

interface Env {
  readonly Variables: { requestId: string; key: KeyRecord };
}

/** An `ApiError` that a handler returns is committed; one that it throws rolls the transaction back. */
type Outcome = ApiError | { readonly data: unknown; readonly messages?: readonly Message[]; readonly total?: number };

class Outage extends Error {
  override readonly name = 'Outage';
  readonly status: OutageStatus;

  constructor(status: OutageStatus) {
    super();
    this.status = status;
  }
}

/** The twelve operations over HTTP. Each request passes the checks in the order of A9. */
export function createApp({ store, assumptions, limits, logger, closing }: AppOptions): Hono<Env> {
  const app = new Hono<Env>();
  const { signedUpMs } = accountOf(store);
  const nextRequestId = requestIds(store);

  app.use(async (c, next) => {
    c.set('requestId', nextRequestId());
    if (closing.aborted) throw new Outage(503);
    if (!isAccepted(c.req.raw, c.env, assumptions)) throw new ApiError('INSUFFICIENT_PERMISSIONS', ONLY_HTTPS, {});
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
    const { raw, url } = c.req;
    requirePermission(c.get('key'), operation.permission);
    await faultsBefore(name, raw.signal);
    const sent = await readRequest(operation, raw, assumptions.maxBodyBytes);
    if (closing.aborted) throw new Outage(503);
    const { outcome, fault } = perform(name, { ...sent, params: c.req.param() }, new URL(url).origin);
    if (outcome instanceof ApiError) throw outcome;
    if (fault?.kind === 'lost-answer') await new Promise((_, reject) => onGivenUp(raw.signal, reject));
    if (fault !== null) throw new Outage(fault.status ?? 504);
    const { data, messages = [], total } = outcome;
    return c.json({ data, messages, ...(total !== undefined && { total }) }, operation.status);
  }

  async function faultsBefore(name: OperationName, signal: AbortSignal): Promise<void> {
    const take = (kind: FaultKind) =>
      findFault(store, name, [kind]) === null ? null : store.write((tx) => takeFault(tx, name, kind));
    const slow = take('slow');
    if (slow !== null) await wait(slow.ms ?? 0, signal);
    const outage = take('before');
    if (outage !== null) throw new Outage(outage.status ?? 503);
  }

  /** In the same transaction, so that a fault counts as used only with its effect. */
  function perform(name: OperationName, input: object, origin: string) {
    const around = { assumptions, origin };
    // The operation's own schemas have checked the input.
    const checked = input as never;
    if (isRead(name)) {
      const outcome: Outcome = READERS[name](store, checked, around);
      const fault = findFault(store, name, AFTERWARDS);
      return { outcome, fault: fault && store.write((tx) => takeFault(tx, name, ...AFTERWARDS)) };
    }
    return store.write((tx: Transaction) => {
      const outcome: Outcome = WRITERS[name](tx, checked, around);
      return { outcome, fault: outcome instanceof ApiError ? null : takeFault(tx, name, ...AFTERWARDS) };
    });
  }

  /** In real time, because the fault tests the patience of the client. */
  function wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      onGivenUp(signal, (reason) => {
        clearTimeout(timer);
        reject(reason);
      });
    });
  }

  function onGivenUp(signal: AbortSignal, giveUp: (reason: Error) => void): void {
    const either = AbortSignal.any([signal, closing]);
    const end = (): void => giveUp(new Outage(503));
    if (either.aborted) end();
    else either.addEventListener('abort', end, { once: true });
  }
}

const AFTERWARDS: readonly FaultKind[] = ['after', 'lost-answer'];

function refuse(c: Context<Env>, refusal: ApiError): Response {
  return c.json(refusal.body(c.get('requestId')), refusal.status);
}

/** The same calls get the same ids. Only the number of starts is written, so a read writes nothing. */
function requestIds(store: Store): () => string {
  const opening = store.write((tx) => tx.newId('opening'));
  let count = 0;
  return () => {
    count += 1;
    return `req_${createHash('sha256').update(`${opening}/${count}`).digest('hex').slice(0, 16)}`;
  };
}

type ReadName = {
  [Name in OperationName]: (typeof OPERATIONS)[Name]['method'] extends 'GET' ? Name : never;
}[OperationName];

type Handlers<Db, Names extends OperationName> = {
  readonly [Name in Names]: (db: Db, input: Input<Name>, around: Surroundings) => Result<Name> | ApiError;
};

function isRead(name: OperationName): name is ReadName {
  return Object.hasOwn(READERS, name);
}

const READERS: Handlers<Reading, ReadName> = {
  getCart,
  listPaymentMethods,
  listMerchants,
  getCategory,
  searchProducts,
};

const WRITERS: Handlers<Transaction, Exclude<OperationName, ReadName>> = {
  createCart,
  updateCart,
  addCartItem,
  updateCartItem,
  createOrder,
  submitOrder,
  createSetupIntent,
};
