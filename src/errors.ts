/** What every error of hookbox has: a `code` that stays the same when the wording of the message improves. */
export abstract class HookboxError extends Error {
  abstract readonly code: string;

  /** written out, because bundlers rename classes */
  abstract override readonly name: string;
}

/** An option that cannot work: thrown when something is created, never while a delivery is under way. */
export class ConfigurationError extends HookboxError {
  override readonly name = 'ConfigurationError';
  readonly code: 'UNUSABLE_SECRET' | 'UNKNOWN_EVENT_TYPE' | 'INVALID_OPTION';

  constructor(code: ConfigurationError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * An inbox that cannot be opened; the message says what to change. Thrown by `sqliteInbox` and `memoryInbox`, and by
 * `postgresInbox` where `pg` is not installed; its inbox opens when it is first asked for something, which rejects with it then.
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
 * An inbox that could not take an event now. Nothing was stored as far as the caller knows; the delivery is answered
 * 503 and the service sends it again.
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
 * Thrown by a handler to say that no retry will help: the event becomes `dead(failed)` at once.
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

/** Longer than this is a mistake, such as milliseconds that were multiplied twice. */
export const LONGEST_WAIT_MS = 30 * 24 * 60 * 60_000;

/**
 * Thrown by a handler to say how long to wait before it runs again, as after a 429 from elsewhere. The attempt has failed and
 * counts as any other; the wait is `afterMs`, or the usual one where that is longer.
 *
 * @throws ConfigurationError `INVALID_OPTION`, as it is made, for anything but milliseconds from 0 to 30 days: the attempt then
 * fails with that, and runs again after the usual wait
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
  /** milliseconds from the end of the attempt */
  readonly afterMs: number;

  constructor(wait: { readonly afterMs: number; readonly message?: string; readonly cause?: unknown }) {
    const { afterMs, message, cause } = Object(wait) as typeof wait;
    super(message ?? `retry in ${afterMs} ms`, { cause });
    if (!(typeof afterMs === 'number' && afterMs >= 0 && afterMs <= LONGEST_WAIT_MS)) {
      throw new ConfigurationError(
        'INVALID_OPTION',
        `new RetryLaterError({ afterMs }): afterMs must be milliseconds from 0 to ${LONGEST_WAIT_MS}, not ${String(afterMs)}. ` +
          'Retry-After may be a date, too.',
      );
    }
    this.afterMs = afterMs;
  }
}

/** Why `ctx.transaction` did not commit. */
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

/** `instanceof` for whatever was thrown: a Proxy may refuse even to be asked. */
export function isInstance<T>(thrown: unknown, type: abstract new (...parameters: never[]) => T): thrown is T {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}

/** An Error of any realm: Jest and `vm` give tests classes of their own, and what Node throws has others. */
export function isError(thrown: unknown): thrown is Error {
  if (isInstance(thrown, Error)) return true;
  try {
    if (typeof thrown !== 'object' || thrown === null) return false;
    return typeof Reflect.get(thrown, 'message') === 'string' && typeof Reflect.get(thrown, 'stack') === 'string';
  } catch {
    return false;
  }
}

/** The search for causes stops at this depth, because a cause may lead back to itself. */
const DEEPEST_CAUSE = 5;

/** The thrown value and the errors that caused it, as far as they can be read. */
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

/** Also one of another copy of hookbox: the handlers may have their own beside the one that runs them. */
export function isPermanent(thrown: unknown): boolean {
  if (isInstance(thrown, PermanentError)) return true;
  try {
    return isError(thrown) && thrown.name === 'PermanentError' && Reflect.get(thrown, 'code') === 'PERMANENT';
  } catch {
    return false;
  }
}

/** How long whatever was thrown asks to wait, in whole milliseconds: 0 where it does not. Also of another copy of hookbox. */
export function waitAskedFor(thrown: unknown): number {
  try {
    if (!isError(thrown) || Reflect.get(thrown, 'code') !== 'RETRY_LATER') return 0;
    const afterMs: unknown = Reflect.get(thrown, 'afterMs');
    return typeof afterMs === 'number' && afterMs > 0 ? Math.ceil(Math.min(afterMs, LONGEST_WAIT_MS)) : 0;
  } catch {
    return 0;
  }
}

/** What kind of thing was thrown, for where its text may quote a secret or a body. */
export function nameOf(thrown: unknown): string {
  try {
    return isError(thrown) ? thrown.name.slice(0, 100) : `a thrown ${typeof thrown}`;
  } catch {
    return 'a value without a name';
  }
}

/**
 * The text of a thrown value. Merchants' code may throw anything, also a value without text. An error of SQLite has its
 * extended code behind it: twenty failures of a disk share the text "disk I/O error".
 */
export function messageOf(thrown: unknown): string {
  try {
    if (!isError(thrown)) return String(thrown);
    const { message, code } = thrown as { readonly message: unknown; readonly code?: unknown };
    const text = String(message);
    const isOfSqlite = typeof code === 'string' && code.startsWith('SQLITE_');
    return isOfSqlite && !text.includes(code) ? `${text} (${code})` : text;
  } catch {
    return 'a value without a text was thrown';
  }
}
