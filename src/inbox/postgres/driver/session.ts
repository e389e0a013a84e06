import { createHash } from 'node:crypto';
import { InboxOpenError } from '../../../errors.ts';
import { LATE, startDeadline, withinDeadline } from '../../../host/host-limits.ts';
import { performance } from '../../../host/real-timers.ts';
import type { Statement } from '../../operator/sql.ts';
import type { PostgresConnection, PostgresQuery, PostgresResult, Connections } from './connections.ts';
import { DatabaseFailure } from './faults.ts';

/** Turned off behind a pooler that does not keep prepared statements. */
interface Preparing {
  named: boolean;
}

/** A pipelining `pg` awaits its queries before it ends: this long beyond hookbox's own limit. */
const CUT_OFF_MS = 1_000;

/** Statements run in order, and several may be waiting for their responses. */
export class Session {
  readonly connection: PostgresConnection;
  readonly #preparing: Preparing;
  readonly #answerMs: number;
  #unansweredAt: number | null = null;
  #over: Promise<unknown> = Promise.resolve();

  /** @param answerMs - after this time without a response, the connection counts as lost */
  constructor(connection: PostgresConnection, preparing: Preparing, answerMs: number) {
    this.connection = connection;
    this.#preparing = preparing;
    this.#answerMs = answerMs;
  }

  /** The time at which an unanswered statement was sent. The connection must not be used again. */
  get unansweredAt(): number | null {
    return this.#unansweredAt;
  }

  async rows<Row>(statement: string | Statement, values?: readonly unknown[]): Promise<readonly Row[]> {
    return rowsOf(await this.#ask(statement, values)) as readonly Row[]; // the columns of the statement
  }

  async row<Row>(statement: string | Statement, values?: readonly unknown[]): Promise<Row | undefined> {
    return (await this.rows<Row>(statement, values))[0];
  }

  /** Skips the statement if its first value is an empty list. Returns the number of changed rows. */
  async run(statement: string | Statement, values?: readonly unknown[]): Promise<number> {
    const [first] = (typeof statement === 'string' ? values : statement.values) ?? [];
    if (Array.isArray(first) && first.length === 0) return 0;
    return (await this.#ask(statement, values)).rowCount ?? 0;
  }

  /** Without parameters, in one message. Returns the command of the last statement. */
  async exec(text: string, answerMs?: number): Promise<string> {
    const result: unknown = await this.#inTurn({ text }, answerMs);
    const last: unknown = Array.isArray(result) ? result.at(-1) : result;
    const command: unknown = typeof last === 'object' && last !== null ? Reflect.get(last, 'command') : '';
    return String(command);
  }

  /** In one message, so all statements run even if this process ends. Returns their rows. */
  async inOneMessage<Row>(texts: readonly string[], answerMs?: number): Promise<readonly Row[]> {
    const result: unknown = await this.#inTurn({ text: texts.join('; ') }, answerMs);
    const results = (Array.isArray(result) ? result : [result]) as readonly PostgresResult[]; // one for each statement
    return results.flatMap(rowsOf) as readonly Row[]; // the columns of those that select
  }

  #ask(statement: string | Statement, given: readonly unknown[] = []): Promise<PostgresResult> {
    const { text, values = [] } = typeof statement === 'string' ? { text: statement, values: given } : statement;
    const query = { text, values: values.map(toParameter) };
    return this.#inTurn(this.#preparing.named ? { ...query, name: nameOf(text) } : query);
  }

  /** Without pipelining, `pg` takes one query at a time. */
  #inTurn(query: PostgresQuery, answerMs?: number): Promise<PostgresResult> {
    if (this.connection.pipeline === true) return this.answered(query, answerMs).catch(this.#failed);
    const answered = this.#over.then(() => this.answered(query, answerMs)).catch(this.#failed);
    this.#over = answered.catch(() => {});
    return answered;
  }

  /** Fails with the error of `pg`. */
  async answered(query: PostgresQuery, answerMs = this.#answerMs): Promise<PostgresResult> {
    if (this.#unansweredAt !== null) throw new Error(SILENT);
    const requestedAt = performance.now();
    const isPipelined = this.connection.pipeline === true;
    const sent = { ...query, types, ...(isPipelined && { query_timeout: answerMs + CUT_OFF_MS }) };
    const answer = await answerOf(inText(this.connection, sent), answerMs);
    if (answer !== LATE) return answer;
    this.#unansweredAt ??= requestedAt;
    throw new Error(SILENT);
  }

  readonly #failed = (cause: unknown): never => {
    const failure = new DatabaseFailure(cause);
    if (failure.fault === 'unprepared') this.#preparing.named = false;
    throw failure;
  };
}

/** An application may have requested binary results. */
function inText(connection: PostgresConnection, query: PostgresQuery): Promise<PostgresResult> {
  if (Reflect.get(connection, 'binary') !== true) return connection.query(query);
  Reflect.set(connection, 'binary', false);
  try {
    return connection.query(query);
  } finally {
    Reflect.set(connection, 'binary', true);
  }
}

/** An application's client may return rows as lists. */
export function rowsOf({ rows, fields = [] }: PostgresResult): readonly unknown[] {
  return Array.isArray(rows[0]) ? rows.map((row) => byName(row as readonly unknown[], fields)) : rows;
}

function byName(row: readonly unknown[], fields: readonly { readonly name: string }[]): object {
  return Object.fromEntries(fields.map(({ name }, at) => [name, row[at]]));
}

/** The message of `pg`. */
const SILENT = 'Query read timeout';

const names = new Map<string, string>();

function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `hookbox_${createHash('sha256').update(text).digest('base64url').slice(0, 20)}`;
    names.set(text, name);
  }
  return name;
}

interface Opening {
  readonly open: (session: Session) => Promise<void>;
  readonly refusalOf: (failure: DatabaseFailure) => Error;
}

export class Sessions {
  readonly connections: Connections;
  readonly #preparing: Preparing;
  readonly #opening: Opening;
  readonly #takeMs: number;
  #opened: Promise<void> | undefined;
  readonly #answeredAt = new WeakMap<PostgresConnection, number>();
  /** when the last unanswered statement was sent */
  #silentAt = -Infinity;

  constructor(connections: Connections, preparing: Preparing, opening: Opening, takeMs: number) {
    this.connections = connections;
    this.#preparing = preparing;
    this.#opening = opening;
    this.#takeMs = takeMs;
  }

  /** @param signal - the caller may stop waiting; the connection then goes to another caller */
  async take(answerMs: number, signal?: AbortSignal): Promise<Session> {
    const connection = await this.#responsive(signal);
    try {
      const first = new Session(connection, this.#preparing, this.#takeMs);
      const opened = (this.#opened ??= this.#opening.open(first).catch((failure: unknown) => {
        if (first.unansweredAt !== null) this.#silentAt = Math.max(this.#silentAt, first.unansweredAt);
        this.#opened = undefined;
        throw failure;
      }));
      await opened;
      return new Session(connection, this.#preparing, answerMs);
    } catch (failure) {
      this.connections.giveBack(connection, true);
      throw failure;
    }
  }

  giveBack({ connection, unansweredAt }: Session, isBroken: boolean): void {
    if (unansweredAt !== null) this.#silentAt = Math.max(this.#silentAt, unansweredAt);
    else if (!isBroken) this.#answeredAt.set(connection, performance.now());
    this.connections.giveBack(connection, isBroken || unansweredAt !== null);
  }

  /** The cause that silenced one connection has probably silenced all idle ones. */
  async #responsive(signal: AbortSignal | undefined): Promise<PostgresConnection> {
    for (;;) {
      const connection = await this.#connection(signal);
      if ((this.#answeredAt.get(connection) ?? Infinity) >= this.#silentAt) return connection;
      // `pg` destroys a connection with a query in progress. On an idle one, it would wait for the end of the session.
      connection.query({ text: 'SELECT 1', query_timeout: 1 }).catch(() => {});
      this.connections.giveBack(connection, true);
    }
  }

  async #connection(signal: AbortSignal | undefined): Promise<PostgresConnection> {
    signal?.throwIfAborted();
    try {
      const taking = this.connections.take();
      const connection = await answerOf(unlessAborted(taking, signal), this.#takeMs);
      if (connection !== LATE) return connection;
      // If it comes later, another caller gets it.
      taking.then((late) => this.connections.giveBack(late, false)).catch(() => {});
    } catch (failure) {
      if (failure instanceof InboxOpenError) throw failure;
      throw this.#opening.refusalOf(new DatabaseFailure(failure, { isLogin: true }));
    }
    signal?.throwIfAborted();
    throw new DatabaseFailure(new Error('timeout exceeded when trying to connect'));
  }
}

/** Resolves with `LATE` as soon as its caller no longer waits. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T | typeof LATE> {
  if (signal === undefined) return work;
  const { promise: aborted, resolve } = Promise.withResolvers<typeof LATE>();
  const abort = (): void => resolve(LATE);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Texts in Postgres cannot contain U+0000, but ids, types and errors may. U+0000 is written as U+0001 and a digit, and so is U+0001,
 * so that different texts stay different and, byte by byte, in order.
 */
function toText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are the subject
  return /[\0\u0001]/.test(text) ? text.replaceAll('\u0001', '\u00011').replaceAll('\0', '\u00010') : text;
}

function fromText(text: string): string {
  if (!text.includes('\u0001')) return text;
  // oxlint-disable-next-line no-control-regex -- control characters are the subject
  return text.replaceAll(/\u0001([01])/g, (_, digit: string) => (digit === '0' ? '\0' : '\u0001'));
}

/** A parameter in the form that is sent, alone or in an array: a text from `toText`, and bytes as `pg` expects them. */
export function toParameter(value: unknown): unknown {
  if (typeof value === 'string') return toText(value);
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return Array.isArray(value) ? value.map(toParameter) : value;
}

/** JSON that Postgres has created from columns with such texts. */
export function fromJson(json: string): unknown {
  return JSON.parse(json, (_, value: unknown) => (typeof value === 'string' ? fromText(value) : value));
}

const BOOL = 16;
const BYTEA = 17;
const INTEGERS = new Set([20, 21, 23, 26]);

/** Reads columns, whatever the application's settings of `pg`. Integers become numbers, as all of them are safe. */
const types = {
  getTypeParser(oid: number): (text: string) => unknown {
    if (INTEGERS.has(oid)) return Number;
    if (oid === BOOL) return (text) => text === 't';
    return oid === BYTEA ? bytesOf : fromText;
  },
};

function bytesOf(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex');
  // With bytea_output = escape, all bytes except printable ASCII are octal.
  const latin = text.replaceAll(/\\(\\|[0-7]{3})/g, (_, code: string) =>
    code === '\\' ? '\\' : String.fromCharCode(Number.parseInt(code, 8)),
  );
  return Buffer.from(latin, 'latin1');
}

/** How long deliveries, claims and settlements wait for a response. */
export const ANSWER_MS = 10_000;
/** Statements of operators may read millions of rows. */
export const OPERATORS_MS = 120_000;
/** A migration may build an index on all events. */
export const MIGRATION_MS = 3_600_000;

/** The response, or `LATE`: only the time shows that a connection is silent. */
async function answerOf<T>(work: Promise<T>, withinMs: number): Promise<T | typeof LATE> {
  const deadline = startDeadline(withinMs);
  try {
    return await withinDeadline(work, deadline);
  } finally {
    deadline.met();
  }
}
