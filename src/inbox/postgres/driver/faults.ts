import { InboxUnavailableError, isError } from '../../../errors.ts';
import { oneLine } from '../../../printable.ts';
import { TO_BE_ESCAPED } from '../../../host/postgres-url.ts';
import { sequenceOfKey, wordsOfTaken, type Sequence, tablesIn } from '../sql/tables.ts';

export type Fault =
  /** another transaction interfered: try again at once */
  | 'again'
  /** a pooler does not keep prepared statements */
  | 'unprepared'
  /** the connection is gone, or the server accepts no writes: try another connection later */
  | 'lost'
  | 'refused';

/** Its message quotes neither a password nor a body. */
export class DatabaseFailure extends Error {
  override readonly name = 'DatabaseFailure';
  readonly fault: Fault;
  /** the SQLSTATE, or Node's code for a socket */
  readonly code: string | null;

  /** @param isLogin - no query was sent yet, so the message quotes no value */
  constructor(cause: unknown, { isLogin = false }: { readonly isLogin?: boolean } = {}) {
    const known = isError(cause) ? OF_DRIVER_ALONE.find(({ pattern }) => pattern.test(cause.message)) : undefined;
    const code = textIn(cause, 'code') ?? known?.code ?? null;
    const taken = takenNumber(cause, code);
    const message = known?.message ?? (isError(cause) ? cause.message : '');
    super(taken === undefined ? safeMessage(message, code, isLogin) : `Postgres: ${wordsOfTaken(taken)}`);
    this.code = code;
    // Another try takes the next number of the sequence.
    this.fault = taken === undefined ? faultOf(code) : 'refused';
  }
}

/** Serialization, deadlock, a lock that was taken, and two transactions that collide in a unique index. */
const AGAIN = new Set(['40001', '40P01', '55P03', '23505']);
const UNPREPARED = new Set(['26000', '42P05']);
/**
 * A server that stops, starts, is a standby, has no connection left, or has reached a time-out; or a connection left
 * in a transaction.
 */
const LOST = /^(08...|57...|53300|0A000|25001|25006|25P02|25P03|25P04)$/;
/** Node's codes for sockets, such as `EPIPE`, may have five letters too. */
const SQLSTATE = /^(?!E[A-Z]{4}$)[0-9A-Z]{5}$/;

/** `pg` names functions instead of the setting to change. */
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
  // `pg` reports an ended connection without a code, and Node with its codes.
  if (code === null || !SQLSTATE.test(code) || LOST.test(code)) return 'lost';
  if (AGAIN.has(code)) return 'again';
  return UNPREPARED.has(code) ? 'unprepared' : 'refused';
}

/** The sequence that repeated a number. */
function takenNumber(cause: unknown, code: string | null): Sequence | undefined {
  const [schema, constraint] = [textIn(cause, 'schema'), textIn(cause, 'constraint')];
  if (code !== '23505' || schema === undefined || constraint === undefined) return undefined;
  return sequenceOfKey(tablesIn(schema), constraint);
}

/** Codes whose messages contain no value of a query. */
const PLAIN = /^(08|0A|25|26|28|3D|3F|40|42|53|55|57)/;
const OF_DRIVER = /^(Connection terminated|timeout exceeded|Client has encountered|Query read timeout)/;

function safeMessage(message: string, code: string | null, isLogin: boolean): string {
  // The parts of such a URL are mixed up, so the message contains none.
  if (code === 'ERR_INVALID_URL' || message === 'URI malformed') return `the Postgres URL is invalid. ${TO_BE_ESCAPED}`;
  if (code === null) return OF_DRIVER.test(message) ? message : 'the connection to Postgres failed';
  if (!SQLSTATE.test(code)) return `the connection to Postgres failed (${code})`;
  if (isLogin || PLAIN.test(code)) return `Postgres: ${oneLine(message)} (${code})`;
  return `Postgres rejected the statement (${code})`;
}

export const DENIED = '42501';

const TO_BE_GRANTED =
  'The role of this connection lacks a privilege. To see the missing GRANT, run npx hookbox doctor as this role';

export function asUnavailable(failure: unknown): unknown {
  if (!(failure instanceof DatabaseFailure)) return failure;
  const advice = failure.code === DENIED ? `. ${TO_BE_GRANTED}` : '';
  return new InboxUnavailableError('FAILED', `${failure.message}${advice}`);
}
