import { hash as sha256 } from 'node:crypto';
import type { SqliteDatabase, SqliteStatement } from '../opening/database.ts';

/** A prepared statement whose rows have the columns of `Row` (rows.ts). */
export interface Statement<Row> extends Pick<SqliteStatement, 'reader' | 'run'> {
  get(...parameters: unknown[]): Row | undefined;
  all(...parameters: unknown[]): Row[];
}

const prepared = new WeakMap<SqliteDatabase, Map<string, SqliteStatement>>();

/** A statement of a connection, prepared once, when it is first needed. */
export function statement<Row = unknown>(database: SqliteDatabase, sql: string): Statement<Row> {
  let statements = prepared.get(database);
  if (statements === undefined) prepared.set(database, (statements = new Map()));
  let found = statements.get(sql);
  if (found === undefined) statements.set(sql, (found = database.prepare(sql).safeIntegers(false)));
  return found as Statement<Row>;
}

export interface NamedStatement<Row> extends Omit<Statement<Row>, 'reader'> {
  /** The row of a statement that always has one. */
  one(...parameters: unknown[]): Row;
}

/** The same, but prepared when it is first run: of some hundred statements with a name, most connections run a few. */
export function lazyStatement<Row>(database: SqliteDatabase, sql: string): NamedStatement<Row> {
  let found: Statement<Row> | undefined;
  const lazy = (): Statement<Row> => (found ??= statement<Row>(database, sql));
  return {
    run: (...parameters) => lazy().run(...parameters),
    get: (...parameters) => lazy().get(...parameters),
    all: (...parameters) => lazy().all(...parameters),
    one: (...parameters) => lazy().get(...parameters) as Row,
  };
}

type IdHash = (id: string) => number;

const hashes = new WeakMap<SqliteDatabase, IdHash>();

/** Gives a connection the function `hookbox_id_hash(id)`, which `keyIs` calls. */
export function defineIdHash(database: SqliteDatabase): void {
  const hash = idHashOf(database);
  database.function('hookbox_id_hash', { deterministic: true }, (id: unknown) => hash(String(id)));
}

export function idHashOf(database: SqliteDatabase): IdHash {
  let hash = hashes.get(database);
  if (hash === undefined) {
    const { key } = database.prepare('SELECT key FROM hookbox_id_key WHERE rowid = 1').get() as { key: string };
    // The key is secret, so senders cannot make ids collide. 48 bits: six bytes of an index.
    hash = (id) => sha256('sha256', key + id, 'buffer').readUIntBE(0, 6);
    hashes.set(database, hash);
  }
  return hash;
}

/** Finds an event by its key: by the index on hashes, and then by the key itself. */
export function keyIs(id = ':id', endpoint = ':endpoint', row?: string): string {
  const of = row === undefined ? '' : `${row}.`;
  return `${of}id_hash = hookbox_id_hash(${id}) AND ${of}id = ${id} AND ${of}endpoint = ${endpoint}`;
}

export function newestSeq(database: SqliteDatabase): number {
  return statement<{ seq: number | null }>(database, 'SELECT max(seq) AS seq FROM hookbox_events').get()?.seq ?? 0;
}
