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
    | 'NOT_DURABLE'
    | 'EPHEMERAL_HOST'
    | 'NODE_TOO_OLD'
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

/** Why `ctx.transaction` did not commit. */
export class TransactionError extends HookboxError {
  override readonly name = 'TransactionError';
  readonly code:
    | 'LEASE_LOST'
    | 'ALREADY_COMMITTED'
    | 'ATTEMPT_OVER'
    | 'NOT_SYNCHRONOUS'
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

/** Also one of another copy of hookbox: the handlers may have their own beside the one that runs them. */
export function isPermanent(thrown: unknown): boolean {
  if (isInstance(thrown, PermanentError)) return true;
  try {
    return isInstance(thrown, Error) && thrown.name === 'PermanentError' && Reflect.get(thrown, 'code') === 'PERMANENT';
  } catch {
    return false;
  }
}

/** What kind of thing was thrown, for where its text may quote a secret or a payload. */
export function nameOf(thrown: unknown): string {
  try {
    return isInstance(thrown, Error) ? thrown.name.slice(0, 100) : `a thrown ${typeof thrown}`;
  } catch {
    return 'something that has no name';
  }
}

/** The text of whatever was thrown: merchants' code may throw anything, also what has no text. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return 'something that has no text was thrown';
  }
}
