import { InboxUnavailableError, isError } from '../../../errors.ts';
import { oneLine } from '../../../printable.ts';
import { TO_BE_ESCAPED } from '../../../host/postgres-url.ts';
import { sequenceOfKey, wordsOfTaken, type Sequence, tablesIn } from '../sql/tables.ts';

/** What a failure of Postgres means for the caller. */
export type Fault =
  /** another transaction came in between: try again, at once */
  | 'again'
  /** a pooler in between does not keep prepared statements */
  | 'unprepared'
  /** the connection is gone, or the server takes no writes now: try another connection, after a while */
  | 'lost'
  | 'refused';

/** A failure of Postgres. Its message quotes neither a password nor a body, unlike that of its cause. */
export class DatabaseFailure extends Error {
  override readonly name = 'DatabaseFailure';
  readonly fault: Fault;
  /** the SQLSTATE, or the code that Node gives a socket's failure */
  readonly code: string | null;

  /** @param isLogin - no query was sent yet whose values it could quote */
  constructor(cause: unknown, { isLogin = false }: { readonly isLogin?: boolean } = {}) {
    const known = isError(cause) ? OF_DRIVER_ALONE.find(({ pattern }) => pattern.test(cause.message)) : undefined;
    const code = textIn(cause, 'code') ?? known?.code ?? null;
    const taken = takenNumber(cause, code);
    const message = known?.message ?? (isError(cause) ? cause.message : '');
    super(taken === undefined ? safeMessage(message, code, isLogin) : `Postgres: ${wordsOfTaken(taken)}`);
    this.code = code;
    // The next number of the sequence is taken as well.
    this.fault = taken === undefined ? faultOf(code) : 'refused';
  }
}

/** Serialization, deadlock, a lock that was not free, and unique indexes of hookbox, where two transactions met. */
const AGAIN = new Set(['40001', '40P01', '55P03', '23505']);
const UNPREPARED = new Set(['26000', '42P05']);
/**
 * A server that ends, starts, is a standby (which rejects READ WRITE), has no connection left, or has reached a time-out; and a
 * connection that another user has left in a transaction.
 */
const LOST = /^(08...|57...|53300|0A000|25001|25006|25P02|25P03|25P04)$/;
/** Node's codes for sockets, such as `EPIPE`, may have five letters too. */
const SQLSTATE = /^(?!E[A-Z]{4}$)[0-9A-Z]{5}$/;

/** Failures that `pg` finds itself. Its messages name functions instead of the setting to look at. */
const OF_DRIVER_ALONE = [
  {
    pattern: /password must be a (non-empty )?string/,
    code: '28P01',
    message: 'the server requires a password, but the URL or pool has none',
  },
  {
    pattern: /does not support SSL/,
    code: '08001',
    message:
      'the connection requires TLS, but the server has TLS turned off: turn ssl on in the server, or remove ' +
      'sslmode from the URL',
  },
];

function textIn(cause: unknown, field: string): string | undefined {
  const value: unknown = typeof cause === 'object' && cause !== null ? Reflect.get(cause, field) : undefined;
  return typeof value === 'string' ? value : undefined;
}

function faultOf(code: string | null): Fault {
  // `pg` reports an ended connection without a code, and Node with codes of its own.
  if (code === null || !SQLSTATE.test(code) || LOST.test(code)) return 'lost';
  if (AGAIN.has(code)) return 'again';
  return UNPREPARED.has(code) ? 'unprepared' : 'refused';
}

/** The sequence that has given out a number which is stored already. */
function takenNumber(cause: unknown, code: string | null): Sequence | undefined {
  const [schema, constraint] = [textIn(cause, 'schema'), textIn(cause, 'constraint')];
  if (code !== '23505' || schema === undefined || constraint === undefined) return undefined;
  return sequenceOfKey(tablesIn(schema), constraint);
}

/** Codes of rights, names, limits and connections, whose messages quote no value of a query. */
const PLAIN = /^(08|0A|25|26|28|3D|3F|40|42|53|55|57)/;
const OF_DRIVER = /^(Connection terminated|timeout exceeded|Client has encountered|Query read timeout)/;

function safeMessage(message: string, code: string | null, isLogin: boolean): string {
  // The parts of such a URL are not what they seem, so the message quotes none.
  if (code === 'ERR_INVALID_URL' || message === 'URI malformed') return `the Postgres URL is invalid. ${TO_BE_ESCAPED}`;
  if (code === null) return OF_DRIVER.test(message) ? message : 'the connection to Postgres failed';
  if (!SQLSTATE.test(code)) return `the connection to Postgres failed (${code})`;
  if (isLogin || PLAIN.test(code)) return `Postgres: ${oneLine(message)} (${code})`;
  return `Postgres rejected the statement (${code})`;
}

export const DENIED = '42501';

const TO_BE_GRANTED =
  'The role of this connection lacks a privilege. To see the missing GRANT, run npx hookbox doctor as this role';

/** A failure as callers of the inbox see it. */
export function asUnavailable(failure: unknown): unknown {
  if (!(failure instanceof DatabaseFailure)) return failure;
  const advice = failure.code === DENIED ? `. ${TO_BE_GRANTED}` : '';
  return new InboxUnavailableError('FAILED', `${failure.message}${advice}`);
}
