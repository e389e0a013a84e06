import { createHash } from 'node:crypto';
import { InboxOpenError, isInstance } from '../../../errors.ts';
import { LATE, startDeadline, withinDeadline } from '../../../host/host-limits.ts';
import { performance } from '../../../host/real-timers.ts';
import type { Statement } from '../../operator/sql.ts';
import type { PostgresConnection, PostgresQuery, PostgresResult } from './client.ts';
import type { Connections, LentShare } from './connections.ts';
import { DatabaseFailure } from './faults.ts';

/** Whether statements are prepared under names; given up where a pooler in between does not keep them. */
interface Preparing {
  named: boolean;
}

/** `pg` awaits what was asked of a connection that pipelines before it ends it; a moment later nobody waits for it. */
const CUT_OFF_MS = 1_000;

/** One connection while it is ours: statements are asked in their order, and several may be under way. */
export class Session {
  readonly connection: PostgresConnection;
  readonly #preparing: Preparing;
  readonly #answerMs: number;
  #unansweredAt: number | null = null;
  /** when the last one that was asked is over, where one has to wait for the other */
  #over: Promise<unknown> = Promise.resolve();

  /** @param answerMs - for so long an answer is waited for; then the connection counts as lost */
  constructor(connection: PostgresConnection, preparing: Preparing, answerMs: number) {
    this.connection = connection;
    this.#preparing = preparing;
    this.#answerMs = answerMs;
  }

  /** when something was asked that was not answered in time: nothing more is to be asked of the connection, by anybody */
  get unansweredAt(): number | null {
    return this.#unansweredAt;
  }

  /** The rows of a statement, of the type that the caller names. */
  async rows<Row>(statement: string | Statement, values?: readonly unknown[]): Promise<readonly Row[]> {
    return rowsOf(await this.#ask(statement, values)) as readonly Row[]; // the columns of the statement
  }

  async row<Row>(statement: string | Statement, values?: readonly unknown[]): Promise<Row | undefined> {
    return (await this.rows<Row>(statement, values))[0];
  }

  /** Runs a statement, unless its first value is an empty list. Returns the number of changed rows. */
  async run(statement: string | Statement, values?: readonly unknown[]): Promise<number> {
    const [first] = (typeof statement === 'string' ? values : statement.values) ?? [];
    if (Array.isArray(first) && first.length === 0) return 0;
    return (await this.#ask(statement, values)).rowCount ?? 0;
  }

  /** Statements without parameters, which Postgres takes in one message; answers with what it says of the last one. */
  async exec(text: string, answerMs?: number): Promise<string> {
    const result: unknown = await this.#inTurn({ text }, answerMs);
    const last: unknown = Array.isArray(result) ? result.at(-1) : result;
    const command: unknown = typeof last === 'object' && last !== null ? Reflect.get(last, 'command') : '';
    return String(command);
  }

  /**
   * Statements without parameters, in one message: Postgres carries them all out, whatever becomes of whoever has asked.
   *
   * @returns the rows that they have selected
   */
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

  /** A connection that pipelines takes the next before it has answered the last; of others `pg` wants one at a time. */
  #inTurn(query: PostgresQuery, answerMs?: number): Promise<PostgresResult> {
    if (this.connection.pipeline === true) return this.answered(query, answerMs).catch(this.#failed);
    const answered = this.#over.then(() => this.answered(query, answerMs)).catch(this.#failed);
    this.#over = answered.catch(() => {});
    return answered;
  }

  /** A query at once, which fails as `pg` has it. */
  async answered(query: PostgresQuery, answerMs = this.#answerMs): Promise<PostgresResult> {
    if (this.#unansweredAt !== null) throw new Error(SILENT);
    const askedAt = performance.now();
    const isPipelined = this.connection.pipeline === true;
    const asked = { ...query, types, ...(isPipelined && { query_timeout: answerMs + CUT_OFF_MS }) };
    const answer = await answerOf(inText(this.connection, asked), answerMs);
    if (answer !== LATE) return answer;
    this.#unansweredAt ??= askedAt;
    throw new Error(SILENT);
  }

  readonly #failed = (cause: unknown): never => {
    const failure = new DatabaseFailure(cause);
    if (failure.fault === 'unprepared') this.#preparing.named = false;
    throw failure;
  };
}

/** `pg` would read bytes as text where an application has asked it for binary results. */
function inText(connection: PostgresConnection, query: PostgresQuery): Promise<PostgresResult> {
  if (Reflect.get(connection, 'binary') !== true) return connection.query(query);
  Reflect.set(connection, 'binary', false);
  try {
    return connection.query(query);
  } finally {
    Reflect.set(connection, 'binary', true);
  }
}

/** The rows of a result by the names of their columns, also where an application's client makes lists of all rows. */
export function rowsOf({ rows, fields = [] }: PostgresResult): readonly unknown[] {
  return Array.isArray(rows[0]) ? rows.map((row) => byName(row as readonly unknown[], fields)) : rows;
}

function byName(row: readonly unknown[], fields: readonly { readonly name: string }[]): object {
  return Object.fromEntries(fields.map(({ name }, at) => [name, row[at]]));
}

/** As `pg` says it. */
const SILENT = 'Query read timeout';

const names = new Map<string, string>();

/** The same statement has the same name in every process, and another one another. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `hookbox_${createHash('sha256').update(text).digest('base64url').slice(0, 20)}`;
    names.set(text, name);
  }
  return name;
}

interface Opening {
  /** Asked before anything else, until it has succeeded once. */
  readonly open: (session: Session) => Promise<void>;
  /** What is said to who may not even connect. */
  readonly refusalOf: (failure: DatabaseFailure) => Error;
}

/** Connections while they are ours, on an inbox that is open. */
export class Sessions {
  readonly #connections: Connections;
  readonly #preparing: Preparing;
  readonly #opening: Opening;
  readonly #takeMs: number;
  #opened: Promise<void> | undefined;
  /** when each was heard of last */
  readonly #heardAt = new WeakMap<PostgresConnection, number>();
  /** when something was asked that was never answered */
  #silentAt = -Infinity;

  /** @param takeMs - for so long a connection is waited for */
  constructor(connections: Connections, preparing: Preparing, opening: Opening, takeMs: number) {
    this.#connections = connections;
    this.#preparing = preparing;
    this.#opening = opening;
    this.#takeMs = takeMs;
  }

  get share(): LentShare {
    return this.#connections.share;
  }

  isWaitedFor(): boolean {
    return this.#connections.isWaitedFor();
  }

  /**
   * @param answerMs - for so long an answer is waited for on it
   * @param signal - of a caller that may stop waiting; then the connection goes to another caller
   */
  async take(answerMs: number, signal?: AbortSignal): Promise<Session> {
    const connection = await this.#heard(signal);
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
      this.#connections.giveBack(connection, true);
      throw failure;
    }
  }

  giveBack({ connection, unansweredAt }: Session, isBroken: boolean): void {
    if (unansweredAt !== null) this.#silentAt = Math.max(this.#silentAt, unansweredAt);
    else if (!isBroken) this.#heardAt.set(connection, performance.now());
    this.#connections.giveBack(connection, isBroken || unansweredAt !== null);
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  /** What has made one connection silent has most likely done so to all that lay idle then: each would be waited for in its turn. */
  async #heard(signal: AbortSignal | undefined): Promise<PostgresConnection> {
    for (;;) {
      const connection = await this.#connection(signal);
      if ((this.#heardAt.get(connection) ?? Infinity) >= this.#silentAt) return connection;
      // One that has something under way is cut off by `pg`; of another one it awaits a goodbye that may never come.
      connection.query({ text: 'SELECT 1', query_timeout: 1 }).catch(() => {});
      this.#connections.giveBack(connection, true);
    }
  }

  async #connection(signal: AbortSignal | undefined): Promise<PostgresConnection> {
    signal?.throwIfAborted();
    try {
      const taking = this.#connections.take();
      const connection = await answerOf(unlessAborted(taking, signal), this.#takeMs);
      if (connection !== LATE) return connection;
      // Should it come yet, somebody else has it.
      taking.then((late) => this.#connections.giveBack(late, false)).catch(() => {});
    } catch (failure) {
      if (isInstance(failure, InboxOpenError)) throw failure;
      throw this.#opening.refusalOf(new DatabaseFailure(failure, { isLogin: true }));
    }
    signal?.throwIfAborted();
    throw new DatabaseFailure(new Error('timeout exceeded when trying to connect'));
  }
}

/** Resolves with `LATE` as soon as its caller no longer waits. */
async function unlessAborted<T>(asked: Promise<T>, signal: AbortSignal | undefined): Promise<T | typeof LATE> {
  if (signal === undefined) return asked;
  const { promise: aborted, resolve } = Promise.withResolvers<typeof LATE>();
  const abort = (): void => resolve(LATE);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([asked, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Postgres' text has no U+0000, which ids, types and errors may have. It is written as U+0001 and a digit, and so is U+0001
 * itself, so that texts stay apart and, byte by byte, in their order.
 */
function toText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- that is what it is about
  return /[\0\u0001]/.test(text) ? text.replaceAll('\u0001', '\u00011').replaceAll('\0', '\u00010') : text;
}

/** What `toText` was given. */
function fromText(text: string): string {
  if (!text.includes('\u0001')) return text;
  // oxlint-disable-next-line no-control-regex -- that is what it is about
  return text.replaceAll(/\u0001([01])/g, (_, digit: string) => (digit === '0' ? '\0' : '\u0001'));
}

/** A parameter as it is sent, alone or in an array: a text as `toText` writes it, and bytes as `pg` knows them. */
export function toParameter(value: unknown): unknown {
  if (typeof value === 'string') return toText(value);
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return Array.isArray(value) ? value.map(toParameter) : value;
}

/** JSON that Postgres has made of columns, whose texts it does not decode. */
export function fromJson(json: string): unknown {
  return JSON.parse(json, (_, value: unknown) => (typeof value === 'string' ? fromText(value) : value));
}

const BOOL = 16;
const BYTEA = 17;
const INTEGERS = new Set([20, 21, 23, 26]);

/** Reads texts with `fromText`, and columns of other types, however the application has set up its `pg`: integers are numbers here, as all of ours are safe. */
const types = {
  getTypeParser(oid: number): (text: string) => unknown {
    if (INTEGERS.has(oid)) return Number;
    if (oid === BOOL) return (text) => text === 't';
    return oid === BYTEA ? bytesOf : fromText;
  },
};

function bytesOf(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex');
  // A role with bytea_output = escape: all but printable ASCII is written in octal.
  const latin = text.replaceAll(/\\(\\|[0-7]{3})/g, (_, code: string) =>
    code === '\\' ? '\\' : String.fromCharCode(Number.parseInt(code, 8)),
  );
  return Buffer.from(latin, 'latin1');
}

/** What a delivery, a claim or the end of an attempt waits for is answered in this time, or nobody will answer it any more. */
export const ANSWER_MS = 10_000;
/** What operators ask for may have to go through millions of rows. */
export const OPERATORS_MS = 120_000;
/** A migration may build an index on all that was ever stored. */
export const MIGRATION_MS = 3_600_000;

/** What is asked of Postgres, or `LATE`. A connection that has gone silent tells nobody: only the time does. */
async function answerOf<T>(asked: Promise<T>, withinMs: number): Promise<T | typeof LATE> {
  const deadline = startDeadline(withinMs);
  try {
    return await withinDeadline(asked, deadline);
  } finally {
    deadline.met();
  }
}
