import { InboxUnavailableError, isError, isInstance } from '../../../errors.ts';
import { oneLine } from '../../../printable.ts';
import { TO_BE_ESCAPED } from '../../../host/postgres-url.ts';
import { sequenceOfKey, wordsOfTaken, type Sequence } from '../sql/sequences.ts';
import { tablesIn } from '../sql/tables.ts';

/** What a failure of Postgres means for what was asked of it. */
export type Fault =
  /** another transaction came in between: ask again, at once */
  | 'again'
  /** a prepared statement is not there, or is somebody else's: there is a pooler in between */
  | 'unprepared'
  /** the connection is gone, or the server does not take writes now: another connection, after a while */
  | 'lost'
  /** what was asked cannot be done */
  | 'refused';

/** Postgres has not done it. Its words quote neither a password nor a body, unlike those of what caused it. */
export class DatabaseFailure extends Error {
  override readonly name = 'DatabaseFailure';
  readonly fault: Fault;
  /** the SQLSTATE, or what Node says of a socket */
  readonly code: string | null;

  /** @param isLogin - no query was sent yet whose values it could quote */
  constructor(cause: unknown, { isLogin = false }: { readonly isLogin?: boolean } = {}) {
    const code = codeOf(cause);
    const taken = takenNumber(cause, code);
    super(taken === undefined ? wordsOf(cause, code, isLogin) : `Postgres: ${wordsOfTaken(taken)}`);
    this.code = code;
    // Asked again, the next number is taken as well.
    this.fault = taken === undefined ? faultOf(code) : 'refused';
  }
}

/** Serialization, deadlock, a lock that was not free, and our own unique indexes: of two that meet, one is told so. */
const AGAIN = new Set(['40001', '40P01', '55P03', '23505']);
const UNPREPARED = new Set(['26000', '42P05']);
/**
 * A server that ends, starts, is a standby by now (which knows no READ WRITE), has no connection left, or whose
 * time-outs have ended what was asked; and a connection that somebody has left in a transaction, which has failed or
 * only reads.
 */
const LOST = /^(08...|57...|53300|0A000|25001|25006|25P02|25P03|25P04)$/;
/** Node's names of what befell a socket, as `EPIPE`, may be as long. */
const SQLSTATE = /^(?!E[A-Z]{4}$)[0-9A-Z]{5}$/;

/** What `pg` finds out by itself, before Postgres could say it by a code; its words name functions, not what to look at. */
const SAID = [
  [/password must be a (non-empty )?string/, '28P01', 'the server requires a password, but the URL or pool has none'],
  [
    /does not support SSL/,
    '08001',
    'the connection requires TLS, but the server has TLS turned off: turn ssl on in the server, or remove ' +
      'sslmode from the URL',
  ],
] as const;

function codeOf(cause: unknown): string | null {
  if (typeof cause !== 'object' || cause === null) return null;
  const code: unknown = Reflect.get(cause, 'code');
  return typeof code === 'string' ? code : (saidBy(cause)?.[1] ?? null);
}

function saidBy(cause: unknown): (typeof SAID)[number] | undefined {
  return isError(cause) ? SAID.find(([words]) => words.test(cause.message)) : undefined;
}

function faultOf(code: string | null): Fault {
  // `pg` says in words that a connection has ended, and Node in codes of its own.
  if (code === null || !SQLSTATE.test(code) || LOST.test(code)) return 'lost';
  if (AGAIN.has(code)) return 'again';
  return UNPREPARED.has(code) ? 'unprepared' : 'refused';
}

/** The sequence that has given out a number which is stored already. */
function takenNumber(cause: unknown, code: string | null): Sequence | undefined {
  if (code !== '23505' || typeof cause !== 'object' || cause === null) return undefined;
  const [schema, constraint]: unknown[] = ['schema', 'constraint'].map((field) => Reflect.get(cause, field));
  if (typeof schema !== 'string' || typeof constraint !== 'string') return undefined;
  return sequenceOfKey(tablesIn(schema), constraint);
}

/** What is said of rights, names, limits and connections quotes no value of a query. */
const PLAIN = /^(08|0A|25|26|28|3D|3F|40|42|53|55|57)/;
/** What `pg` itself says. */
const OF_DRIVER = /^(Connection terminated|timeout exceeded|Client has encountered|Query read timeout)/;

/** Its parts are then others than it seems to have, so nothing of it is told. */
const UNREADABLE = `the Postgres URL is invalid. ${TO_BE_ESCAPED}`;

function wordsOf(cause: unknown, code: string | null, isLogin: boolean): string {
  if (code === 'ERR_INVALID_URL' || isInstance(cause, URIError)) return UNREADABLE;
  const message = saidBy(cause)?.[2] ?? (isError(cause) ? cause.message : '');
  if (code === null) return OF_DRIVER.test(message) ? message : 'the connection to Postgres failed';
  if (!SQLSTATE.test(code)) return `the connection to Postgres failed (${code})`;
  if (isLogin || PLAIN.test(code)) return `Postgres: ${oneLine(message)} (${code})`;
  return `Postgres rejected the statement (${code})`;
}

export const DENIED = '42501';

/** A failure as whoever has asked an inbox hears of it. */
export function asUnavailable(failure: unknown): unknown {
  if (!isInstance(failure, DatabaseFailure)) return failure;
  // A role that may only look opens an inbox, and hears of the rest when it acts.
  const advice = failure.code === DENIED ? `. ${TO_BE_GRANTED}` : '';
  return new InboxUnavailableError('FAILED', `${failure.message}${advice}`);
}

const TO_BE_GRANTED =
  'The role of this connection lacks a privilege. To see the missing GRANT, run npx hookbox doctor as this role';
