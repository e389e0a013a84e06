import { ConfigurationError } from '../errors.ts';
import { eventTypes, isEventType } from '../events/event-types.ts';
import { howToDeclare, schemaOf, type EventSchemas, type HandledType } from '../events/own-events.ts';
import type { EventOf, HandledEvent } from '../events/webhook-event.ts';
import type { Breaker, DefaultDatabase, LatestTypes, Quiet, Rate, Rates } from '../inbox/work.ts';
import type { ProbeTimes } from '../inbox/rules/breakers.ts';
import { DEFAULT_RETRY, type RetryOptions } from '../inbox/rules/attempt.ts';
import {
  definedIn,
  assertOption,
  assertOptions,
  whole,
  positive,
  nested,
  MAX_TIMER_MS,
  type RulesFor,
} from '../option-rules.ts';
import { didYouMean } from '../nearest.ts';

/** Facts about the delivery that stored the event. */
export interface DeliveryFacts {
  readonly endpoint: string;
  /** When the receiver accepted the delivery. */
  readonly receivedAt: Date;
  /**
   * `false` if no signature was verified because `unsafeUnsigned` is `true` or the event was imported without
   * `trusted`.
   */
  readonly verified: boolean;
}

/** Logs a message, with or without structured facts. */
interface HandlerLine {
  (message: string): void;
  (facts: Readonly<Record<string, unknown>>, message: string): void;
}

/** The logger of a handler. Each line contains the endpoint, id, type and attempt of the event. */
export interface HandlerLog {
  readonly info: HandlerLine;
  readonly warn: HandlerLine;
  readonly error: HandlerLine;
}

/**
 * The second argument of a handler.
 *
 * @typeParam Database - the database that `transaction` passes to its function; for `sqliteInbox`, this is the inbox's
 * better-sqlite3 connection
 */
export interface HandlerContext<Database = DefaultDatabase> {
  /** The number of this attempt, starting at 1. */
  readonly attempt: number;
  /**
   * Aborted when the handler has run out of time or lost its lease, or when the processor closes. If the handler ends
   * after that, even without an error, the event does not count as processed and the handler runs again, unless
   * `transaction` has committed.
   */
  readonly signal: AbortSignal;
  /** `true` if a newer event of the same entity was already processed, so this event is out of date. */
  readonly superseded: boolean;
  /** The body exactly as delivered and signed. Use these bytes to archive or forward the body. */
  readonly rawBody: Uint8Array;
  /** Facts about the delivery that stored the event. */
  readonly delivery: DeliveryFacts;
  /**
   * A logger that adds the endpoint, id, type and attempt to each line: `log.info('sent')`,
   * `log.warn({ carrier }, 'late')`. The inbox keeps the last 50 lines with the attempt, in at most 8 KiB, unless
   * `logErrors` is `false`.
   */
  readonly log: HandlerLog;
  /**
   * Runs `work` in a transaction in the inbox's own database. The same transaction marks the event as processed, so the
   * writes of `work` happen exactly once. A commit is final, so call `transaction` once, as the last step.
   *
   * If you await `transaction` and catch its error, your handler decides the outcome. If you do not await it, its
   * failure still fails the attempt.
   *
   * @param work - receives the database of the inbox and must not end the transaction. On SQLite, `work` must be
   * synchronous. On Postgres, the transactions that `work` begins become savepoints.
   * @throws TransactionError, or the error of `work` or of the commit; nothing is committed unless `work` ended the
   * transaction itself
   */
  transaction<T>(
    work: (database: Database) => Database extends SynchronousDatabase ? Synchronous<T> : T,
  ): Promise<Awaited<T>>;
  /**
   * Runs a step of the handler, and keeps its result with the event. In later attempts, also after a rerun, returns the
   * result without running the step again.
   *
   * If the process dies after `run` has ended and before its result is kept, a later attempt runs the step again. The
   * result must be JSON of at most 64 KiB, or `undefined`; otherwise the event becomes dead.
   *
   * @param name - 1 to 100 characters; use each name once per attempt
   * @param run - if it throws, nothing is kept
   * @throws ConfigurationError `INVALID_OPTION` if the name was used before, in or after `transaction`, or after the
   * handler has ended
   * @throws TransactionError `LEASE_LOST` if another processor has taken over the event
   */
  once<T>(name: string, run: () => T): Promise<Awaited<T>>;
  /**
   * Marks the event as processed without work, and records the reason for operators. Return right after the call:
   * `return ctx.skip('not our warehouse')`.
   *
   * If the handler then throws or times out, the attempt fails and the reason is dropped. Call `skip` before the commit
   * of `transaction`; later calls have no effect.
   *
   * @param reason - operators see its first 500 characters on one line, so it should not name a customer
   */
  skip(reason: string): void;
}

/** A synchronous connection, such as SQLite's, on which an `await` would commit too early. */
interface SynchronousDatabase {
  readonly inTransaction: boolean;
}

type Synchronous<T> = T extends PromiseLike<unknown> ? never : T;

/**
 * Handles one event. The event is processed when the function returns or its promise resolves. Any thrown value, even
 * `null`, fails the attempt.
 */
export type Handler<Event, Database = DefaultDatabase> = (event: Event, context: HandlerContext<Database>) => unknown;

/** A handler with its own options. */
export interface HandlerWithOptions<Event, Database = DefaultDatabase> extends TypeOptions {
  /** The handler. */
  readonly handle: Handler<Event, Database>;
}

/**
 * A handler, or a handler with options, for each event type, including the types of `OwnEvents`. `'*'` handles all
 * types without their own handler, including unknown types.
 */
export type Handlers<Database = DefaultDatabase> = {
  readonly [T in HandledType]?: Handler<EventOf<T>, Database> | HandlerWithOptions<EventOf<T>, Database>;
} & {
  readonly '*'?: Handler<HandledEvent, Database> | HandlerWithOptions<HandledEvent, Database>;
};

export function handledTypes(handlers: Handlers): readonly string[] | '*' {
  const named = namedTypes(handlers);
  return named.includes('*') ? '*' : named;
}

/** With `'*'` for a handler of all other types. */
export function namedTypes(handlers: Handlers): readonly string[] {
  return Object.entries(handlers).flatMap(([type, handler]) => (handler === undefined ? [] : [type]));
}

/**
 * Rejects handlers that hookbox could not find or call.
 *
 * @throws ConfigurationError `UNKNOWN_EVENT_TYPE`, `INVALID_OPTION`
 */
export function assertHandlers(handlers: Handlers, schemas: EventSchemas = {}): void {
  if (!isPlainObject(handlers)) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      `handlers must be a plain object with a function for each type, such as { 'order.created': (event) => … }, not ` +
        `${kindOf(handlers)}. ${fixFor(handlers)}`,
    );
  }
  for (const [type, handler] of Object.entries(handlers)) {
    if (type !== '*' && !isEventType(type) && schemaOf(schemas, type) === undefined) {
      const meant = didYouMean(type, [...eventTypes, ...Object.keys(schemas)]);
      throw new ConfigurationError(
        'UNKNOWN_EVENT_TYPE',
        `handlers has the key ${JSON.stringify(type)}, which is not an event type. ${meant === null ? '' : `${meant} `}Use '*' ` +
          `for types that hookbox does not know, or one of: ${eventTypes.join(', ')}. ${howToDeclare(type)}`,
      );
    }
    if (isPlainObject(handler)) {
      assertTypeOptions(type, handler);
    } else if (typeof handler !== 'function') {
      throw new ConfigurationError(
        'INVALID_OPTION',
        `The handler of ${type} must be a function or { handle, … }, not ${kindOf(handler)}.`,
      );
    }
  }
}

/** Without a prototype that has properties. */
export function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function kindOf(value: unknown): string {
  if (value === null || typeof value !== 'object') return typeof value === 'object' ? 'null' : typeof value;
  const name: unknown = value.constructor?.name;
  return typeof name === 'string' && name !== '' && name !== 'Object' ? `an instance of ${name}` : 'another object';
}

function fixFor(value: unknown): string {
  if (value instanceof Map) return 'Write Object.fromEntries(handlers).';
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return "To handle every type, write { '*': … }.";
  return (
    'hookbox does not read methods on a prototype. Write ' +
    "{ 'order.created': (event, context) => shop.orderCreated(event, context) }."
  );
}

/** Options for one event type. For each option that you do not set here, the value in `processing` applies. */
export interface TypeOptions {
  /**
   * When and how often the handler of a failed event runs again. In inline mode, the retry schedule of the service
   * applies instead.
   */
  readonly retry?: RetryOptions;
  /** How long the handler may run before its signal is aborted, in milliseconds. */
  readonly timeoutMs?: number;
  /**
   * How many events of this type are handled concurrently in this process, within `processing.concurrency`. For `'*'`,
   * all types without their own handler share this limit. This limit has no effect in inline mode.
   */
  readonly concurrency?: number;
  /**
   * `false` lets newer events of the entity pass while this event waits for its next attempt. `ctx.superseded` is
   * `true` if a newer event was processed meanwhile.
   *
   * @defaultValue `true`
   */
  readonly blocks?: boolean;
  /**
   * At most `count` attempts of this type begin in any span of `perMs` milliseconds, over all processes of the inbox and
   * for each endpoint. For `'*'`, all types without their own handler share this rate. In inline mode, a delivery above
   * the rate gets a 409, so the service sends the event again.
   */
  readonly rate?: Rate;
  /**
   * After `failures` failures in a row, over all processes of the inbox and for each endpoint, the type is paused. After
   * each `probeMs` milliseconds, one event is tried: a success ends the pause, and a failure uses up no attempt. A
   * `PermanentError` and a crash do not count. For `'*'`, each type has its own breaker. In inline mode, a delivery of a
   * paused type gets a 409.
   */
  readonly breaker?: Breaker;
  /**
   * `true`: of the waiting events of this type and of one entity, only the newest runs. The others become processed
   * without a run, in the same commit, as superseded by it. Use it only if each event has all that your handler needs.
   * A rerun event always runs. This option has no effect in inline mode, or on events without an entity.
   *
   * @defaultValue `false`
   */
  readonly latest?: boolean | LatestOptions;
}

/** How long the newest event waits for a newer one. */
export interface LatestOptions {
  /** The newest event runs when no newer one has arrived for this long, in milliseconds. */
  readonly quietMs: number;
  /**
   * The newest event runs at the latest this long after the oldest waiting one has arrived, in milliseconds.
   *
   * @defaultValue ten times `quietMs`, so that a steady stream of events still runs its handler
   */
  readonly maxMs?: number;
}

const DAY_MS = 24 * 60 * 60_000;
const RATE_RULES = { count: whole(1, 1_000_000), perMs: whole(1, DAY_MS) } as const satisfies RulesFor<Rate>;
const BREAKER_RULES = {
  failures: whole(1, 1_000),
  probeMs: whole(1, DAY_MS),
} as const satisfies RulesFor<Breaker>;
const RETRY_RULES: RulesFor<RetryOptions> = { attempts: whole(1, Infinity), baseMs: positive(), maxMs: positive() };
export const RETRY_RULE = nested(RETRY_RULES);

const TYPE_RULES: RulesFor<TypeOptions & { readonly handle: unknown }> = {
  handle: true,
  retry: RETRY_RULE,
  timeoutMs: positive(MAX_TIMER_MS),
  concurrency: whole(),
  blocks: 'boolean',
  rate: nested(RATE_RULES),
  latest: true,
  breaker: nested(BREAKER_RULES),
};
const LATEST_RULES: RulesFor<LatestOptions> = { quietMs: positive(MAX_TIMER_MS), maxMs: positive(MAX_TIMER_MS) };
const QUIET_TIMES = 10;

/** @throws ConfigurationError `INVALID_OPTION` */
function assertTypeOptions(type: string, handler: object): void {
  const name = `handlers['${type}']`;
  assertOptions(name, handler, TYPE_RULES, 'Write { handle: (event, context) => …, timeoutMs: 5_000 }.');
  assertOption(`${name}: handle`, Reflect.get(handler, 'handle'), 'function');
  assertLatest(`${name}, latest`, Reflect.get(handler, 'latest'));
  for (const [option, rules] of Object.entries({ rate: RATE_RULES, breaker: BREAKER_RULES })) {
    const given: unknown = Reflect.get(handler, option);
    if (!isPlainObject(given)) continue;
    for (const [part, rule] of Object.entries(rules)) {
      assertOption(`${name}, ${option}: ${part}`, Reflect.get(given, part), rule);
    }
  }
}

function assertLatest(name: string, latest: unknown): void {
  if (latest === undefined || typeof latest === 'boolean') return;
  assertOptions(name, latest, LATEST_RULES, 'Write latest: true, or latest: { quietMs: 2_000, maxMs: 20_000 }.');
  const { quietMs, maxMs = Infinity } = latest as LatestOptions;
  assertOption(`${name}: quietMs`, quietMs, positive(MAX_TIMER_MS));
  if (maxMs < quietMs) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      `${name}: maxMs must be at least quietMs, ${quietMs}, not ${maxMs}.`,
    );
  }
}

/** `undefined` if no handler has the option. */
export function latestTypes(handlers: Handlers): LatestTypes | undefined {
  const types = Object.entries(handlers).map(([type, handler]) => {
    const { latest = false }: TypeOptions = typeof handler === 'object' ? handler : {};
    return [type, quietOf(latest)] as const;
  });
  return types.some(([, quiet]) => quiet !== null) ? Object.fromEntries(types) : undefined;
}

function quietOf(latest: boolean | LatestOptions): Quiet | null {
  if (typeof latest === 'boolean') return latest ? { quietMs: 0, maxMs: 0 } : null;
  const { quietMs, maxMs = QUIET_TIMES * quietMs } = latest;
  return { quietMs, maxMs };
}

type TypeLimits = Readonly<Record<'timeoutMs', number>> & {
  readonly retry: Required<RetryOptions>;
  /** whether a failing event holds back newer ones of its entity */
  readonly blocks: boolean;
  readonly breaker: Breaker | null;
};

/** The limits of each type: of its handler, or of `processing`. */
export interface LimitsByType {
  of(type: string): TypeLimits;
  /** how many events of each handler may run at once; `null` if no handler has a limit */
  readonly bounds: ReadonlyMap<string, number> | null;
  /** absent if no handler has a rate */
  readonly rates?: Rates;
  /** how long the attempt of a probe may take; absent if no handler has a breaker */
  readonly probes?: ProbeTimes;
}

export function limitsByType(
  handlers: Handlers,
  all: { readonly retry: RetryOptions; readonly timeoutMs: number; readonly leaseMs: number },
): LimitsByType {
  const limits = new Map<string, TypeLimits>();
  const bounds = new Map<string, number>();
  const rates = new Map<string, Rate>();
  const probes = new Map<string, number>();
  const usual = { ...DEFAULT_RETRY, ...definedIn(all.retry) };
  for (const [type, handler] of Object.entries(handlers)) {
    const own: TypeOptions = typeof handler === 'object' ? handler : {};
    const { timeoutMs = all.timeoutMs, blocks = true, concurrency = Infinity, rate, breaker } = own;
    if (rate !== undefined) rates.set(type, { ...rate });
    if (breaker !== undefined) probes.set(type, timeoutMs + all.leaseMs);
    limits.set(type, {
      timeoutMs,
      blocks,
      breaker: breaker === undefined ? null : { ...breaker },
      retry: { ...usual, ...definedIn(own.retry ?? {}) },
    });
    bounds.set(type, concurrency);
  }
  const rest = limits.get('*') ?? { timeoutMs: all.timeoutMs, blocks: true, breaker: null, retry: usual };
  return {
    of: (type) => limits.get(type) ?? rest,
    bounds: [...bounds.values()].every((bound) => bound === Infinity) ? null : bounds,
    ...(rates.size > 0 && { rates: Object.fromEntries(rates) }),
    ...(probes.size > 0 && { probes: Object.fromEntries(probes) }),
  };
}

/** The types of `Handlers` ensure that each handler gets its event. */
export function handlerFor(handlers: Handlers, type: string): Handler<HandledEvent> {
  const all = handlers as Readonly<Record<string, Handler<never> | HandlerWithOptions<never>>>;
  const handler = (Object.hasOwn(handlers, type) ? all[type] : undefined) ?? all['*'];
  if (handler === undefined) throw new Error(`no handler for ${type}`);
  return (typeof handler === 'function' ? handler : handler.handle) as Handler<HandledEvent>;
}

/** The original promise, and a function that is called when a handler waits for it. */
interface Origin {
  readonly promise: Promise<unknown>;
  noteAwait(): void;
}

/**
 * A promise that a handler need not await. Its rejection, and that of promises made from it, is never unhandled; code
 * that awaits one of them still gets the error.
 *
 * Notes when the handler waits for it: `await`, `return` and `Promise.all` listen to both success and failure, while
 * `catch` or `finally` alone do not count.
 */
export class OfferedPromise<T> extends Promise<T> {
  readonly #origin: Origin;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(promise: Promise<T>, origin: Origin) {
    super((resolve) => resolve(promise));
    this.#origin = origin;
    origin.promise.catch(() => void super.then(undefined, () => {}));
  }

  // oxlint-disable-next-line unicorn/no-thenable -- promises have it; this one records its use
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (typeof onFulfilled !== 'function' || typeof onRejected !== 'function') {
      return new OfferedPromise(super.then(onFulfilled, onRejected), this.#origin);
    }
    const hearing = <Value, Result>(listener: (value: Value) => Result) => {
      return (value: Value): Result => {
        this.#origin.noteAwait();
        return listener(value);
      };
    };
    return new OfferedPromise(super.then(hearing(onFulfilled), hearing(onRejected)), this.#origin);
  }

  /** The built-in method would listen to both success and failure. */
  override finally(onFinally?: (() => void) | null): Promise<T> {
    return new OfferedPromise(super.then((value) => value).finally(onFinally), this.#origin);
  }
}
