import { ConfigurationError, nameOf } from '../errors.ts';
import { loggerOf, type Logger } from '../host/logger.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { MAX_TIMER_MS, positiveWhole } from '../number-option.ts';
import type { FaultPlan } from '../sender/faults.ts';
import { ACCOUNT_TABLES, accountOf, signUp } from './account.ts';
import { createApp } from './app.ts';
import { assumptionsWith, type Assumptions } from './assumptions.ts';
import { CART_DUE, CART_TABLES, stepCart } from './carts.ts';
import { frozenClock, realClock } from './clock.ts';
import { createControls, type Controls } from './controls.ts';
import { createDispatch, DISPATCH_TABLES } from './dispatch.ts';
import type { Webhook } from './endpoints.ts';
import { SERVICE_FAULT_TABLES } from './faults.ts';
import { INVENTORY_TABLES } from './inventory.ts';
import { createKey, KEY_TABLES, keyValue } from './keys.ts';
import { limitsOf, LIMIT_TABLES, type PlanLimits, type PlanName } from './limits.ts';
import { ORDER_DUE, ORDER_TABLES, stepOrder } from './orders.ts';
import { ownPages } from './own-pages.ts';
import { PAYMENT_TABLES } from './payments.ts';
import { createRequestIds } from './request-ids.ts';
import { CATALOGUE_TABLES, sow } from './seed.ts';
import { openStore, type Store } from './store.ts';

/** Which sandbox is wanted. */
export interface SandboxOptions {
  /**
   * where webhooks go: receivers and apps of this process, which need no port, or addresses; nowhere unless set, or where a file
   * that is opened again has them go. A list, also an empty one, replaces what was given in code before.
   */
  readonly webhooks?: readonly Webhook[];
  /** `true` lets webhooks go to other machines; only to this one unless set */
  readonly allowRemote?: boolean;
  /** the path of its file, made where it is not there; in memory unless set */
  readonly file?: string;
  /** makes ids, keys and faults, and repeats them: a whole number; 1 on a frozen clock unless set, any on a real one */
  readonly seed?: number;
  /** `frozen` unless set: it stands still until `advance` moves it. A `real` one goes by itself. */
  readonly clock?: 'frozen' | 'real';
  /** what a frozen clock shows at first; the beginning of 2026 (UTC) unless set */
  readonly startAt?: Date;
  /** the plan of interface 8.2, or limits of your own; `Enterprise`, which has none, unless set */
  readonly plan?: PlanName | PlanLimits;
  /** when the account was made, whose months begin on that day; when the sandbox was made unless set */
  readonly signedUpAt?: Date;
  /** what is to differ where the interface says nothing */
  readonly assumptions?: Partial<Assumptions>;
  /** how long a webhook's answer is waited for, in milliseconds of real time; 10,000 unless set (interface 6.4) */
  readonly deliveryTimeoutMs?: number;
  /** what goes wrong with which try of which event; nothing unless set */
  readonly deliveryFaults?: FaultPlan;
  /** told after each try of a delivery, by its id: `deliveries.tries(id)` says what came of it */
  readonly onTry?: (delivery: number) => void;
  /** told of failures of the sandbox itself; the console unless set, `false` for silence */
  readonly logger?: Logger | false;
}

/** The whole service on one machine. */
export interface Sandbox extends Controls {
  /** the key that it begins with, which may do everything: the value of the header `Authorization` (interface 5.1) */
  readonly apiKey: string;
  /** what its clock shows */
  readonly now: () => Date;
  /**
   * Answers a request as the service would, without a port: give it to a client in place of `fetch`, or to a server such as
   * @hono/node-server. Plain HTTP is accepted for the host `sandbox` and loopback names.
   *
   * @param request - a request, or where it goes
   * @param more - what `fetch` takes beside that; or, beside a request, what a server hands along, which tells where the connection
   * comes from
   */
  readonly fetch: (request: Request | string | URL, more?: unknown) => Promise<Response>;
  /**
   * Moves the clock, and resolves when all that falls due on the way has happened: orders, carts, deliveries, quotas.
   *
   * @param duration - milliseconds, or a text such as `30 min`; 0 does what is due now
   * @throws ConfigurationError `INVALID_OPTION` for what is no duration
   */
  readonly advance: (duration: number | string) => Promise<void>;
  /** Ends it: requests under way are answered 503. What a file holds stays. Also by `await using`. */
  readonly close: () => Promise<void>;
  /** aborted when it begins to close */
  readonly closing: AbortSignal;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

const TABLES = [
  CATALOGUE_TABLES,
  INVENTORY_TABLES,
  CART_TABLES,
  ORDER_TABLES,
  PAYMENT_TABLES,
  KEY_TABLES,
  ACCOUNT_TABLES,
  LIMIT_TABLES,
  SERVICE_FAULT_TABLES,
  ...DISPATCH_TABLES,
];

const OPTIONS: KnownOptions<SandboxOptions> = {
  webhooks: 'list',
  allowRemote: 'boolean',
  file: true,
  seed: true,
  clock: true,
  startAt: true,
  plan: true,
  signedUpAt: true,
  assumptions: true,
  deliveryTimeoutMs: true,
  deliveryFaults: 'function',
  onTry: 'function',
  logger: true,
};

const START_AT = new Date('2026-01-01T00:00:00.000Z');

/**
 * Makes a sandbox: all twelve operations of the service, stateful, with its errors, permissions, limits and webhooks
 * (interface 2 to 9).
 *
 * @throws ConfigurationError for an option that cannot work, or a file that cannot be opened
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
  if (webhooks !== undefined && !Array.isArray(webhooks)) {
    throw new ConfigurationError('INVALID_OPTION', 'webhooks must be a list, such as [{ to: receiver, secret }].');
  }
  if (kind !== 'frozen' && kind !== 'real') {
    throw new ConfigurationError('INVALID_OPTION', "clock must be 'frozen' or 'real'.");
  }
  for (const [name, time] of Object.entries({ startAt, signedUpAt: options.signedUpAt ?? startAt })) {
    if (!(time instanceof Date) || Number.isNaN(time.getTime())) {
      throw new ConfigurationError('INVALID_OPTION', `${name} must be a valid Date.`);
    }
  }
  const assumptions = assumptionsWith(options.assumptions);
  const limits = limitsOf(plan, assumptions);
  const logger = loggerOf(options.logger);
  const clock = kind === 'frozen' ? frozenClock(startAt.getTime()) : realClock();
  const seed = options.seed ?? (kind === 'frozen' ? 1 : undefined);
  if (seed !== undefined && !(Number.isSafeInteger(seed) && seed >= 0)) {
    throw new ConfigurationError('INVALID_OPTION', 'seed must be a whole number of 0 or more.');
  }
  const store = openStore({ file: options.file, clock, seed, tables: TABLES });
  try {
    if (!store.isOld) begin(store, options.signedUpAt);
    const closing = new AbortController();
    const requestIds = createRequestIds(store);
    const app = createApp({ store, assumptions, limits, requestIds, logger, closing: closing.signal });
    const pageOf = ownPages(store, assumptions, logger);
    const dispatch = createDispatch(store, {
      webhooks,
      allowRemote,
      steps: {
        [CART_DUE]: (tx, { subject }) => stepCart(tx, subject, assumptions),
        [ORDER_DUE]: (tx, { subject }) => stepOrder(tx, subject, assumptions),
      },
      timeoutMs: positiveWhole('deliveryTimeoutMs', options.deliveryTimeoutMs ?? 10_000, MAX_TIMER_MS),
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
      async fetch(asked, more) {
        const isChanged = typeof asked === 'string' || asked instanceof URL || isInit(more);
        const request = isChanged ? new Request(asked, more as RequestInit) : asked;
        const env = isChanged ? undefined : more;
        request.signal.throwIfAborted(); // an aborted request was never sent
        const page = closing.signal.aborted ? undefined : pageOf(request);
        const answer = page === undefined ? app.fetch(request, env) : page.then((own) => own.fetch(request, env));
        // Where there is a connection, its server ends it.
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

/** What changes a request, and not what servers hand along with it. */
function isInit(more: unknown): boolean {
  return (
    typeof more === 'object' && more !== null && ['method', 'headers', 'body', 'signal'].some((name) => name in more)
  );
}

/** As `fetch` does: who gives up hears of it, whether or not there will be an answer. */
function orAborted(answer: Response | Promise<Response>, signal: AbortSignal): Promise<Response> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', giveUp, { once: true });
    Promise.resolve(answer)
      .finally(() => signal.removeEventListener('abort', giveUp))
      .then(resolve, reject);
  });
}

/** What a new sandbox begins with. */
function begin(store: Store, signedUpAt: Date | undefined): void {
  store.write((tx) => {
    sow(tx);
    const { id: firstKeyId } = createKey(tx, store.seed, { name: 'first' });
    signUp(tx, { signedUpMs: signedUpAt?.getTime() ?? tx.now, firstKeyId });
  });
}
