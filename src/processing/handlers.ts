import { ConfigurationError } from '../errors.ts';
import type { EventOf, HandledEvent } from '../events/webhook-event.ts';
import { eventTypes, isEventType } from '../events/event-types.ts';
import { howToDeclare, schemaOf, type EventSchemas, type HandledType } from '../events/own-events.ts';
import type { DefaultDatabase } from '../inbox/default-database.ts';
import { didYouMean } from '../nearest.ts';
import { assertTypeOptions, type TypeOptions } from './type-options.ts';

/** What a handler is told about the delivery that brought its event. */
export interface DeliveryFacts {
  readonly endpoint: string;
  readonly receivedAt: Date;
  /** `false` where no signature was verified: with `unsafeUnsigned: true`, or after an import that was not trusted */
  readonly verified: boolean;
}

/** Logs a text, with facts or without. */
interface HandlerLine {
  (message: string): void;
  (facts: Readonly<Record<string, unknown>>, message: string): void;
}

/** The logger of a handler: each line has the endpoint, id, type and attempt of its event. */
export interface HandlerLog {
  readonly info: HandlerLine;
  readonly warn: HandlerLine;
  readonly error: HandlerLine;
}

/**
 * What a handler is given beside its event.
 *
 * @typeParam Database - what `transaction` works on: of `sqliteInbox`, its better-sqlite3 connection
 */
export interface HandlerContext<Database = DefaultDatabase> {
  /** 1 for the first run of a handler for this event */
  readonly attempt: number;
  /**
   * aborted when the handler has run out of time, lost its lease, or the processor closes: what ends after that has not
   * done its work and runs again, also when it returns, unless its `transaction` was committed
   */
  readonly signal: AbortSignal;
  /** a newer event of the same entity was processed already: what this one says is out of date */
  readonly superseded: boolean;
  /** the bytes as they were delivered, which the signature was of: for an archive, or to pass them on */
  readonly rawBody: Uint8Array;
  readonly delivery: DeliveryFacts;
  /** the logger with endpoint, id, type and attempt filled in: `log.info('sent')`, `log.warn({ carrier }, 'late')` */
  readonly log: HandlerLog;
  /**
   * Runs `work` in a transaction on the inbox's own database that also marks the event as processed. Both are committed or
   * neither is: what `work` writes there happens exactly once. Success is final, so call it once and last.
   *
   * Await it. A call that fails without having been awaited fails the attempt; one whose failure the handler has awaited and
   * caught is the handler's to judge.
   *
   * @param work - is given the inbox's database and must not end the transaction; on SQLite it is synchronous, on Postgres
   * transactions inside of it are savepoints
   * @throws TransactionError, or whatever `work` or the commit threw; nothing is committed then
   */
  transaction<T>(
    work: (database: Database) => Database extends SynchronousDatabase ? Synchronous<T> : T,
  ): Promise<Awaited<T>>;
  /**
   * Says that there is nothing to do for this event, and why: the attempt counts as processed, and operators see the reason
   * beside it. Return after it: `return ctx.skip('not our warehouse')`.
   *
   * A handler that throws afterwards, or runs out of time, has failed, and the reason is forgotten. With `transaction` it goes
   * along if it is called before the transaction has committed; after that it does nothing, as what was done was not skipped.
   * The last call counts.
   *
   * @param reason - for operators, who read the first 500 characters on one line: nothing that names a customer
   */
  skip(reason: string): void;
}

/** A connection that is used by one call at a time, as SQLite's is: an `await` inside a transaction would commit early. */
interface SynchronousDatabase {
  readonly inTransaction: boolean;
}

/** Anything but a promise. */
export type Synchronous<T> = T extends PromiseLike<unknown> ? never : T;

/** Runs until it returns or its promise resolves; whatever it throws, `null` too, is a failed attempt. */
export type Handler<Event, Database = DefaultDatabase> = (event: Event, context: HandlerContext<Database>) => unknown;

/** A handler with options of its own. */
export interface HandlerWithOptions<Event, Database = DefaultDatabase> extends TypeOptions {
  readonly handle: Handler<Event, Database>;
}

/**
 * A handler for each type of interest, those of `OwnEvents` too: a function, or one with options. `'*'` takes every type without
 * one, unknown types too.
 */
export type Handlers<Database = DefaultDatabase> = {
  readonly [T in HandledType]?: Handler<EventOf<T>, Database> | HandlerWithOptions<EventOf<T>, Database>;
} & {
  readonly '*'?: Handler<HandledEvent, Database> | HandlerWithOptions<HandledEvent, Database>;
};

/** The types that there is a handler for; `'*'` for every type. */
export function handledTypes(handlers: Handlers): readonly string[] | '*' {
  if (handlers['*'] !== undefined) return '*';
  return Object.entries(handlers).flatMap(([type, handler]) => (handler === undefined ? [] : [type]));
}

/**
 * Refuses handlers that hookbox would not see, or could not call: their events would wait, or be ignored, without a word.
 *
 * @param schemas - of the types that are the merchant's own
 * @throws ConfigurationError `UNKNOWN_EVENT_TYPE` for a key that is no event type, `INVALID_OPTION` for what is no plain
 * object, or a value that is neither a function nor one with options
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

/** Its own properties are all it has; `Object.create(null)` has no others either. */
function isPlainObject(value: unknown): value is object {
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
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return "Write { '*': … } for every type.";
  return (
    'hookbox does not read methods on a prototype. Write ' +
    "{ 'order.created': (event, context) => shop.orderCreated(event, context) }."
  );
}
