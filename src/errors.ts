/** The base class of all hookbox errors. A later version may change the message of an error, but not its `code`. */
export abstract class HookboxError extends Error {
  abstract readonly code: string;

  /** The class name. The name is a string literal, so it stays the same even if a bundler renames the class. */
  abstract override readonly name: string;
}

/**
 * An option is invalid. hookbox throws this error when you create an object, such as a receiver, or call a function of
 * `hookbox/ops`. A delivery never causes this error.
 *
 * - `UNUSABLE_SECRET`: a secret is missing, is empty, or is the text `undefined` or `null`
 * - `UNKNOWN_EVENT_TYPE`: a key of `handlers` is not an event type
 * - `INVALID_OPTION`: any other option is invalid or unknown
 */
export class ConfigurationError extends HookboxError {
  override readonly name = 'ConfigurationError';
  readonly code: 'UNUSABLE_SECRET' | 'UNKNOWN_EVENT_TYPE' | 'INVALID_OPTION';

  constructor(code: ConfigurationError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * An inbox cannot be opened. The message says what to change. `sqliteInbox` and `memoryInbox` throw this error.
 * `postgresInbox` throws this error if `pg` is not installed; for all other causes, the first call to the inbox rejects
 * with this error.
 *
 * - `FOLDER_MISSING`: the file's folder does not exist
 * - `NOT_A_DATABASE`: the file is not a SQLite database
 * - `NEEDS_NEWER_HOOKBOX`: a newer version of hookbox has changed the inbox
 * - `NETWORK_FILE_SYSTEM`: the file is on a network file system; `MOUNTED_FILE`: the file itself is a mount point;
 *   `SEVERAL_NAMES`: the file has several hard links
 * - `NOT_DURABLE`: the database would lose commits, for example because it is in memory
 * - `EPHEMERAL_HOST`: the host keeps neither its disk nor its memory, so events would be lost
 * - `NODE_TOO_OLD`: Node is too old for better-sqlite3; `SQLITE_DOES_NOT_LOAD`: better-sqlite3 cannot be loaded
 * - `LOCKED`: another process kept the database locked
 * - `SCHEMA_MISSING`, `SCHEMA_OLD`: the tables are missing or outdated, and hookbox cannot create or change them
 *   because `migrate` is `false` or the role lacks the right
 * - `ACCESS_DENIED`: the process has no right to use the file, or the Postgres role lacks a right
 * - `SERVER_TOO_OLD`: Postgres is older than version 14
 * - `READ_ONLY`: the database accepts no writes, for example on a standby
 * - `CANNOT_OPEN`: any other cause
 */
export class InboxOpenError extends HookboxError {
  override readonly name = 'InboxOpenError';
  readonly code:
    | 'FOLDER_MISSING'
    | 'NOT_A_DATABASE'
    | 'NEEDS_NEWER_HOOKBOX'
    | 'NETWORK_FILE_SYSTEM'
    | 'MOUNTED_FILE'
    | 'SEVERAL_NAMES'
    | 'NOT_DURABLE'
    | 'EPHEMERAL_HOST'
    | 'NODE_TOO_OLD'
    | 'SQLITE_DOES_NOT_LOAD'
    | 'LOCKED'
    | 'SCHEMA_MISSING'
    | 'SCHEMA_OLD'
    | 'ACCESS_DENIED'
    | 'SERVER_TOO_OLD'
    | 'READ_ONLY'
    | 'CANNOT_OPEN';

  constructor(code: InboxOpenError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The inbox could not confirm that it stored an event. The delivery gets a 503, and the service sends the event again.
 *
 * - `OVERLOADED`: too many deliveries are queued
 * - `CLOSED`: the inbox is closed
 * - `DEADLINE`: the deadline passed before the inbox began to store the event
 * - `FAILED`: the database reported an error
 */
export class InboxUnavailableError extends HookboxError {
  override readonly name = 'InboxUnavailableError';
  readonly code: 'OVERLOADED' | 'CLOSED' | 'DEADLINE' | 'FAILED';

  constructor(code: InboxUnavailableError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Throw this error in a handler if no retry can help. The event becomes `dead(failed)` immediately.
 *
 * @example
 * ```ts
 * import { PermanentError } from 'hookbox';
 *
 * throw new PermanentError('this order was deleted in our shop');
 * ```
 */
export class PermanentError extends HookboxError {
  override readonly name = 'PermanentError';
  readonly code = 'PERMANENT';
}

/** A longer wait is a mistake, such as milliseconds that were multiplied twice. */
export const LONGEST_WAIT_MS = 30 * 24 * 60 * 60_000;

/**
 * Throw this error in a handler to set the wait before the next attempt, for example after a 429 response. The attempt
 * counts as failed. The wait is `afterMs` or the usual wait, whichever is longer. If a provider is down, set
 * `countAttempt: false` and `pauseType: true`, so that no attempts are used up and the other events of the type wait too.
 *
 * @throws ConfigurationError `INVALID_OPTION` from the constructor if `afterMs` is not a number of milliseconds from 0
 * to 30 days, or another option is not a boolean; the attempt then fails with this error, and the handler runs again after the usual wait
 * @example
 * ```ts
 * import { RetryLaterError } from 'hookbox';
 *
 * const answer = { status: 429, headers: new Headers({ 'retry-after': '60' }) };
 * try {
 *   if (answer.status === 429) throw new RetryLaterError({ afterMs: Number(answer.headers.get('retry-after')) * 1_000 });
 * } catch (error) {
 *   console.log(error instanceof RetryLaterError && error.afterMs); // 60000
 * }
 * ```
 */
export class RetryLaterError extends HookboxError {
  override readonly name = 'RetryLaterError';
  readonly code = 'RETRY_LATER';
  /** The minimum wait after the attempt ends, in milliseconds. */
  readonly afterMs: number;
  /** `false` if the attempt does not count as a failure. */
  readonly countAttempt: boolean;
  /** `true` if the type of the event waits too. */
  readonly pauseType: boolean;

  /**
   * @param wait - `countAttempt: false`: the attempt does not use up one of the event's attempts. `pauseType: true`: the
   * type of the event is paused at its endpoint for `afterMs`; processors then continue without an operator. In inline
   * mode, where the service decides on retries, `countAttempt` has no effect.
   */
  constructor(wait: {
    readonly afterMs: number;
    readonly countAttempt?: boolean;
    readonly pauseType?: boolean;
    readonly message?: string;
    readonly cause?: unknown;
  }) {
    const { afterMs, countAttempt = true, pauseType = false, message, cause } = Object(wait) as typeof wait;
    super(message ?? `retry in ${afterMs} ms`, { cause });
    if (!(typeof afterMs === 'number' && afterMs >= 0 && afterMs <= LONGEST_WAIT_MS)) {
      throw new ConfigurationError(
        'INVALID_OPTION',
        'new RetryLaterError({ afterMs }): afterMs must be a number of milliseconds from 0 to ' +
          `${LONGEST_WAIT_MS}, not ${String(afterMs)}. A Retry-After header may contain a date instead of seconds.`,
      );
    }
    for (const [name, value] of Object.entries({ countAttempt, pauseType })) {
      if (typeof value === 'boolean') continue;
      throw new ConfigurationError(
        'INVALID_OPTION',
        `new RetryLaterError({ ${name} }): ${name} must be true or false, not ${typeof value}.`,
      );
    }
    this.afterMs = afterMs;
    this.countAttempt = countAttempt;
    this.pauseType = pauseType;
  }
}

/**
 * `ctx.transaction` did not commit, or did not commit correctly.
 *
 * - `LEASE_LOST`: another processor may be handling the event now; `ctx.once` throws this, too
 * - `ALREADY_COMMITTED`: the handler called `ctx.transaction` again after a commit
 * - `ATTEMPT_OVER`: the handler called `ctx.transaction` after the attempt had ended
 * - `NOT_SYNCHRONOUS`: on SQLite, `work` returned a promise
 * - `NOT_COMMITTED`: the connection to Postgres was lost before the commit
 * - `GIVEN_UP`: on Postgres, `work` was still running when hookbox gave up the attempt
 * - `NOT_SENT`: on Postgres, `work` tried to send a BEGIN, COMMIT or ROLLBACK that hookbox cannot turn into a savepoint
 *   command
 * - `ENDED_EARLY`: on Postgres, `work` tried to send COMMIT or ROLLBACK without its own BEGIN, or left its own
 * transaction open
 * - `ROLLED_BACK_BY_ITSELF`, `COMMITTED_BY_ITSELF`: `work` itself rolled back or committed the transaction; the event
 *   is then dead
 */
export class TransactionError extends HookboxError {
  override readonly name = 'TransactionError';
  readonly code:
    | 'LEASE_LOST'
    | 'ALREADY_COMMITTED'
    | 'ATTEMPT_OVER'
    | 'NOT_SYNCHRONOUS'
    | 'NOT_COMMITTED'
    | 'GIVEN_UP'
    | 'ENDED_EARLY'
    | 'NOT_SENT'
    | 'ROLLED_BACK_BY_ITSELF'
    | 'COMMITTED_BY_ITSELF';

  constructor(code: TransactionError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** `instanceof` for any thrown value: a Proxy may throw even here. */
export function isInstance<T>(thrown: unknown, type: abstract new (...parameters: never[]) => T): thrown is T {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}

/** An Error of any realm: Jest and `vm` have separate classes for tests, and errors of Node have others. */
export function isError(thrown: unknown): thrown is Error {
  if (isInstance(thrown, Error)) return true;
  try {
    if (typeof thrown !== 'object' || thrown === null) return false;
    return typeof Reflect.get(thrown, 'message') === 'string' && typeof Reflect.get(thrown, 'stack') === 'string';
  } catch {
    return false;
  }
}

/** The search for causes stops at this depth, because causes may form a cycle. */
const DEEPEST_CAUSE = 5;

/** The thrown value and the errors that caused it, if they can be read. */
export function causesOf(thrown: unknown): readonly unknown[] {
  const causes = [thrown];
  try {
    for (let last = thrown; isError(last) && last.cause !== undefined && causes.length <= DEEPEST_CAUSE;) {
      last = last.cause;
      causes.push(last);
    }
  } catch {
    // A getter, or a Proxy.
  }
  return causes;
}

/** Also true for an error of another copy of hookbox: handlers may import their own copy. */
export function isPermanent(thrown: unknown): boolean {
  if (isInstance(thrown, PermanentError)) return true;
  try {
    return isError(thrown) && thrown.name === 'PermanentError' && Reflect.get(thrown, 'code') === 'PERMANENT';
  } catch {
    return false;
  }
}

/** The wait of a thrown RetryLaterError, in whole milliseconds. Also accepts an error of another copy of hookbox. */
export interface RequestedWait {
  readonly afterMs: number;
  readonly isUncounted: boolean;
  readonly pausesType: boolean;
}

const NO_WAIT: RequestedWait = { afterMs: 0, isUncounted: false, pausesType: false };

export function requestedWait(thrown: unknown): RequestedWait {
  try {
    if (!isError(thrown) || Reflect.get(thrown, 'code') !== 'RETRY_LATER') return NO_WAIT;
    const afterMs: unknown = Reflect.get(thrown, 'afterMs');
    return {
      afterMs: typeof afterMs === 'number' && afterMs > 0 ? Math.ceil(Math.min(afterMs, LONGEST_WAIT_MS)) : 0,
      isUncounted: Reflect.get(thrown, 'countAttempt') === false,
      pausesType: Reflect.get(thrown, 'pauseType') === true,
    };
  } catch {
    return NO_WAIT;
  }
}

/** The kind of a thrown value, for messages where its text may quote a secret or a body. */
export function nameOf(thrown: unknown): string {
  try {
    return isError(thrown) ? thrown.name.slice(0, 100) : `a thrown ${typeof thrown}`;
  } catch {
    return 'a value without a name';
  }
}

/**
 * The text of a thrown value. An application may throw any value, also one without text. An error of SQLite gets its
 * extended code appended, because twenty failures of a disk share the text "disk I/O error".
 */
export function messageOf(thrown: unknown): string {
  try {
    if (!isError(thrown)) return String(thrown);
    const { message, code } = thrown as { readonly message: unknown; readonly code?: unknown };
    const text = String(message);
    const isOfSqlite = typeof code === 'string' && code.startsWith('SQLITE_');
    return isOfSqlite && !text.includes(code) ? `${text} (${code})` : text;
  } catch {
    return 'the thrown value cannot be converted to text';
  }
}
