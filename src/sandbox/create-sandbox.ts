import type { Hono } from 'hono';
import { nameOf } from '../errors.ts';
import { loggerOf, type Logger } from '../host/logger.ts';
import { assertOptions, whole, oneOf, MAX_TIMER_MS, type RulesFor } from '../option-rules.ts';
import type { FaultPlan } from '../sender/faults.ts';
import { createApp } from './app.ts';
import { assumptionsWith, type Assumptions } from './assumptions.ts';
import { CART_DUE, CART_TABLES, stepCart } from './carts.ts';
import { seedStock } from './catalogue.ts';
import { frozenClock, realClock } from './clock.ts';
import { createControls, type Controls } from './controls.ts';
import { createDispatch, DISPATCH_TABLES } from './deliveries.ts';
import type { Webhook } from './endpoints.ts';
import { SERVICE_FAULT_TABLES } from './faults.ts';
import { INVENTORY_TABLES } from './inventory.ts';
import { accountOf, KEY_TABLES, keyValue, signUp } from './keys.ts';
import { limitsOf, LIMIT_TABLES, type PlanLimits, type PlanName } from './limits.ts';
import { ORDER_DUE, ORDER_TABLES, stepOrder } from './orders.ts';
import { PAYMENT_TABLES } from './payments.ts';
import { openStore } from './open-store.ts';
import { type Store } from './store.ts';

/** The options of {@link createSandbox}. */
export interface SandboxOptions {
  /**
   * The targets of webhooks: URLs, or receivers and apps in this process. A list, even an empty one, replaces the webhooks
   * that code set earlier in the same file.
   *
   * @defaultValue none, or those of an existing file
   */
  readonly webhooks?: readonly Webhook[];
  /**
   * `true` allows webhooks to other machines.
   *
   * @defaultValue `false`
   */
  readonly allowRemote?: boolean;
  /**
   * The path of the sandbox's file, which the sandbox creates if it is missing.
   *
   * @defaultValue in memory
   */
  readonly file?: string;
  /**
   * A whole number that makes ids, keys and faults repeatable.
   *
   * @defaultValue 1 with a frozen clock, random with a real one
   */
  readonly seed?: number;
  /**
   * A `frozen` clock advances only with `advance`. A `real` clock runs by itself.
   *
   * @defaultValue `'frozen'`
   */
  readonly clock?: 'frozen' | 'real';
  /**
   * The start time of a frozen clock.
   *
   * @defaultValue 2026-01-01T00:00:00Z
   */
  readonly startAt?: Date;
  /**
   * A plan (section 8.2 of the service's interface), or your own limits.
   *
   * @defaultValue `'Enterprise'`, which has no limits
   */
  readonly plan?: PlanName | PlanLimits;
  /**
   * When the account was created. Its quota months begin on that day.
   *
   * @defaultValue when the sandbox was created
   */
  readonly signedUpAt?: Date;
  /** Changes to the assumptions about gaps in the interface. */
  readonly assumptions?: Partial<Assumptions>;
  /**
   * How long a delivery waits for the response, in milliseconds of real time (section 6.4 of the service's interface).
   *
   * @defaultValue 10,000
   */
  readonly deliveryTimeoutMs?: number;
  /**
   * The faults of each delivery attempt.
   *
   * @defaultValue none
   */
  readonly deliveryFaults?: FaultPlan;
  /** Called with the id of a delivery after each attempt. `deliveries.tries(id)` returns the results. */
  readonly onTry?: (delivery: number) => void;
  /**
   * The logger for failures of the sandbox itself; `false` for no log.
   *
   * @defaultValue the console
   */
  readonly logger?: Logger | false;
}

/** An imitation of the whole service in your process. */
export interface Sandbox extends Controls {
  /** The first API key, with all permissions, for the header `Authorization`. */
  readonly apiKey: string;
  /** Returns the time on the sandbox's clock. */
  readonly now: () => Date;
  /**
   * Answers a request as the service does; no port is needed. Pass this function to a client as `fetch`, or to a server
   * such as @hono/node-server. Plain HTTP is accepted for the host `sandbox` and loopback names.
   *
   * @param more - the second argument of `fetch`, or the server's own data
   */
  readonly fetch: (request: Request | string | URL, more?: unknown) => Promise<Response>;
  /**
   * Advances the clock. Resolves when everything that was due has happened.
   *
   * @param duration - milliseconds, or a text such as `30 min`; 0 runs the work that is due now
   * @throws ConfigurationError `INVALID_OPTION`
   */
  readonly advance: (duration: number | string) => Promise<void>;
  /** Closes the sandbox; a file keeps its data. Requests in progress get a 503. */
  readonly close: () => Promise<void>;
  /** Aborted when the sandbox begins to close. */
  readonly closing: AbortSignal;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

const TABLES = [
  INVENTORY_TABLES,
  CART_TABLES,
  ORDER_TABLES,
  PAYMENT_TABLES,
  KEY_TABLES,
  LIMIT_TABLES,
  SERVICE_FAULT_TABLES,
  ...DISPATCH_TABLES,
];

const OPTIONS: RulesFor<SandboxOptions> = {
  webhooks: 'list',
  allowRemote: 'boolean',
  file: true,
  seed: whole(0),
  clock: oneOf('frozen', 'real'),
  startAt: 'date',
  plan: true,
  signedUpAt: 'date',
  assumptions: true,
  deliveryTimeoutMs: whole(1, MAX_TIMER_MS),
  deliveryFaults: 'function',
  onTry: 'function',
  logger: true,
};

const START_AT = new Date('2026-01-01T00:00:00.000Z');

/**
 * Creates a sandbox, with all twelve operations of the service and their state, errors, permissions, limits and
 * webhooks (sections 2 to 9 of the service's interface).
 *
 * @throws ConfigurationError `INVALID_OPTION` for an invalid option, or a file that cannot be opened
 * @example
 * ```ts
 * import { createSandbox } from 'hookbox/sandbox';
 *
 * const sandbox = createSandbox();
 * const headers = { Authorization: sandbox.apiKey };
 * const answer = await sandbox.fetch('http://sandbox/merchant', { headers });
 * const { total } = (await answer.json()) as { total: number };
 * console.log(answer.status, total); // 200 3
 * await sandbox.close();
 * ```
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  assertOptions('createSandbox', options, OPTIONS);
  const { clock: kind = 'frozen', startAt = START_AT, plan = 'Enterprise', webhooks, allowRemote = false } = options;
  const assumptions = assumptionsWith(options.assumptions);
  const limits = limitsOf(plan, assumptions);
  const logger = loggerOf(options.logger);
  const clock = kind === 'frozen' ? frozenClock(startAt.getTime()) : realClock();
  const seed = options.seed ?? (kind === 'frozen' ? 1 : undefined);
  const store = openStore({ file: options.file, clock, seed, tables: TABLES });
  try {
    if (!store.isOld) {
      store.write((tx) => {
        seedStock(tx);
        signUp(tx, store.seed, options.signedUpAt?.getTime() ?? tx.now);
      });
    }
    const closing = new AbortController();
    const app = createApp({ store, assumptions, limits, logger, closing: closing.signal });
    const pageOf = ownPages(store, assumptions, logger);
    const dispatch = createDispatch(store, {
      webhooks,
      allowRemote,
      steps: {
        [CART_DUE]: (tx, { subject }) => stepCart(tx, subject, assumptions),
        [ORDER_DUE]: (tx, { subject }) => stepOrder(tx, subject, assumptions),
      },
      timeoutMs: options.deliveryTimeoutMs ?? 10_000,
      faults: options.deliveryFaults,
      onTry: options.onTry,
      onFailure: (failure) => logger.error({ error: nameOf(failure) }, 'the sandbox failed to run due work'),
    });

    let closed: Promise<void> | undefined;
    const close = (): Promise<void> => {
      closed ??= (async () => {
        closing.abort();
        await dispatch.close();
        store.close();
      })();
      return closed;
    };

    return {
      ...createControls(store, dispatch, { assumptions, plan, limits, allowRemote }),
      apiKey: keyValue(store.seed, accountOf(store).firstKeyId),
      now: () => new Date(clock.now()),
      async fetch(input, more) {
        const isChanged = typeof input === 'string' || input instanceof URL || isInit(more);
        const request = isChanged ? new Request(input, more as RequestInit) : input;
        const env = isChanged ? undefined : more;
        request.signal.throwIfAborted(); // an aborted request was never sent
        const page = closing.signal.aborted ? undefined : pageOf(request);
        const answer = page === undefined ? app.fetch(request, env) : page.then((own) => own.fetch(request, env));
        // A server ends its connection itself.
        return env === undefined ? orAborted(answer, request.signal) : answer;
      },
      advance: (duration) => dispatch.advance(duration),
      close,
      closing: closing.signal,
      [Symbol.asyncDispose]: close,
    };
  } catch (failure) {
    store.close();
    throw failure;
  }
}

function isInit(more: unknown): boolean {
  return (
    typeof more === 'object' && more !== null && ['method', 'headers', 'body', 'signal'].some((name) => name in more)
  );
}

function orAborted(answer: Response | Promise<Response>, signal: AbortSignal): Promise<Response> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', giveUp, { once: true });
    Promise.resolve(answer)
      .finally(() => signal.removeEventListener('abort', giveUp))
      .then(resolve, reject);
  });
}

/** Pages are loaded at the first request for them, so that a sandbox starts sooner. */
function ownPages(
  store: Store,
  assumptions: Assumptions,
  logger: Logger,
): (request: Request) => Promise<Hono> | undefined {
  let checkout: Promise<Hono> | undefined;
  let described: Promise<Hono> | undefined;
  return ({ method, url }) => {
    const { pathname } = new URL(url);
    if ((method === 'GET' || method === 'HEAD') && INTERFACE_PATH.test(pathname)) {
      described ??= import('./openapi/interface-page.tsx').then((one) => one.createInterface(assumptions, logger));
      return described;
    }
    if (!pathname.startsWith('/checkout/')) return undefined;
    checkout ??= import('./checkout.tsx').then((one) => one.createCheckout(store, assumptions, logger));
    return checkout;
  };
}

const INTERFACE_PATH = /^\/(?:openapi\.json|interface|interface\/page\.css)$/;
