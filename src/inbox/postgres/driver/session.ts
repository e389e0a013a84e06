import { createHash } from 'node:crypto';
import type { PostgresConnection, PostgresQuery, PostgresResult } from './client.ts';
import { DatabaseFailure } from './faults.ts';
import { types } from './values.ts';

/** Whether statements are prepared under names; given up where a pooler in between does not keep them. */
export interface Preparing {
  named: boolean;
}

/** One connection while it is ours: statements are asked in their order, and several may be under way. */
export class Session {
  readonly connection: PostgresConnection;
  readonly #preparing: Preparing;
  /** when the last one that was asked is over, where one has to wait for the other */
  #over: Promise<unknown> = Promise.resolve();

  constructor(connection: PostgresConnection, preparing: Preparing) {
    this.connection = connection;
    this.#preparing = preparing;
  }

  /** The rows of a statement; whoever asks says what they look like. */
  async rows<Row>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return (await this.#ask(text, values)).rows as readonly Row[]; // the columns of the statement
  }

  async row<Row>(text: string, values: readonly unknown[] = []): Promise<Row | undefined> {
    return (await this.rows<Row>(text, values))[0];
  }

  /** How many rows it has changed. */
  async run(text: string, values: readonly unknown[] = []): Promise<number> {
    return (await this.#ask(text, values)).rowCount ?? 0;
  }

  /** Statements without parameters, which Postgres takes in one message; answers with what it says of the last one. */
  async exec(text: string): Promise<string> {
    const result: unknown = await this.#inTurn({ text });
    const last: unknown = Array.isArray(result) ? result.at(-1) : result;
    const command: unknown = typeof last === 'object' && last !== null ? Reflect.get(last, 'command') : '';
    return String(command);
  }

  /**
   * Statements without parameters, in one message: Postgres carries them all out, whatever becomes of whoever has asked.
   *
   * @returns the rows that they have selected, whose integers may be text
   */
  async inOneMessage<Row>(texts: readonly string[]): Promise<readonly Row[]> {
    const result: unknown = await this.#inTurn({ text: texts.join('; ') });
    const results = (Array.isArray(result) ? result : [result]) as readonly PostgresResult[]; // one for each statement
    return results.flatMap(({ rows }) => rows as readonly Row[]); // the columns of those that select
  }

  #ask(text: string, values: readonly unknown[]): Promise<PostgresResult> {
    const query = { text, values: [...values], types };
    return this.#inTurn(this.#preparing.named ? { ...query, name: nameOf(text) } : query);
  }

  /** A connection that pipelines takes the next before it has answered the last; of others `pg` wants one at a time. */
  #inTurn(query: PostgresQuery): Promise<PostgresResult> {
    if (this.connection.pipeline === true) return this.connection.query(query).catch(this.#failed);
    const answered = this.#over.then(() => this.connection.query(query)).catch(this.#failed);
    this.#over = answered.catch(() => {});
    return answered;
  }

  readonly #failed = (cause: unknown): never => {
    const failure = new DatabaseFailure(cause);
    if (failure.fault === 'unprepared') this.#preparing.named = false;
    throw failure;
  };
}

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
