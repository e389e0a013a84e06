import { Hono, type Context } from 'hono';
import { clearTimeout, setTimeout } from '../host/real-timers.ts';
import { nameOf } from '../errors.ts';
import type { Logger } from '../host/logger.ts';
import { accountOf } from './account.ts';
import type { Assumptions } from './assumptions.ts';
import { outageBody, ApiError, type OutageStatus } from './errors.ts';
import { findFault, takeFault, type FaultKind } from './faults.ts';
import { READERS, WRITERS, type CheckedInput, type ReadName, type Surroundings } from './handlers.ts';
import { requireKey, requirePermission, type KeyRecord } from './keys.ts';
import { countRequest, type Limit } from './limits.ts';
import { OPERATION_NAMES, OPERATIONS, type Operation, type OperationName } from './service-operations.ts';
import { readRequest } from './read-request.ts';
import type { RequestIds } from './request-ids.ts';
import type { Message } from './resources.ts';
import { isAccepted, ONLY_HTTPS } from './secure-transport.ts';
import type { Store, Transaction } from './store.ts';

/** What the service is made of. */
export interface AppOptions {
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
