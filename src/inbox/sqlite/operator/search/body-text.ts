import { jsonText } from '../../../../events/json-tokens.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** Where bodies are kept. */
export type BodyTable = 'hookbox_events' | 'hookbox_conflicts';

/**
 * The text of a body; `null` where it is not JSON, or gone. SQLite is not asked to read it: it would take the
 * bytes for text of the encoding that its database has, which a merchant may have set to UTF-16.
 */
export function bodyText(database: SqliteDatabase, table: BodyTable, seq: number): string | null {
  const row = statement(database, `SELECT body FROM ${table} WHERE seq = ?`).get(seq);
  const body = (row as { body: Uint8Array | null } | undefined)?.body ?? null;
  return body === null ? null : jsonText(body);
}

/** The text of an event's body: read once, when it is first asked for. */
export class BodyText {
  readonly #database: () => SqliteDatabase;
  readonly #seq: number;
  #text: string | null | undefined;

  constructor(database: () => SqliteDatabase, seq: number) {
    this.#database = database;
    this.#seq = seq;
  }

  read(): string | null {
    if (this.#text === undefined) this.#text = bodyText(this.#database(), 'hookbox_events', this.#seq);
    return this.#text;
  }
}

/** The text that a token means, if it is one. */
export function textOf(token: string | null): string | null {
  return token?.startsWith('"') === true ? (JSON.parse(token) as string) : null;
}
