import { createHash } from 'node:crypto';
import { performance } from '../../../host/real-timers.ts';
import { answerOf, LATE } from './answer-of.ts';
import type { PostgresConnection, PostgresQuery, PostgresResult } from './client.ts';
import { DatabaseFailure } from './faults.ts';
import { toParameter, types } from './values.ts';

/** Whether statements are prepared under names; given up where a pooler in between does not keep them. */
export interface Preparing {
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

  /** The rows of a statement; whoever asks says what they look like. */
  async rows<Row>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return rowsOf(await this.#ask(text, values)) as readonly Row[]; // the columns of the statement
  }

  async row<Row>(text: string, values: readonly unknown[] = []): Promise<Row | undefined> {
    return (await this.rows<Row>(text, values))[0];
  }

  /** How many rows it has changed. */
  async run(text: string, values: readonly unknown[] = []): Promise<number> {
    return (await this.#ask(text, values)).rowCount ?? 0;
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

  #ask(text: string, values: readonly unknown[]): Promise<PostgresResult> {
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
