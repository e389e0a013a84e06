import { hash as sha256 } from 'node:crypto';
import type { SqliteDatabase, SqliteStatement } from '../opening/database.ts';

export interface Statement<Row> extends Pick<SqliteStatement, 'reader' | 'run'> {
  get(...parameters: unknown[]): Row | undefined;
  all(...parameters: unknown[]): Row[];
}

const prepared = new WeakMap<SqliteDatabase, Map<string, SqliteStatement>>();

/** Prepared once, at its first use. */
export function statement<Row = unknown>(database: SqliteDatabase, sql: string): Statement<Row> {
  let statements = prepared.get(database);
  if (statements === undefined) prepared.set(database, (statements = new Map()));
  let found = statements.get(sql);
  if (found === undefined) statements.set(sql, (found = database.prepare(sql).safeIntegers(false)));
  return found as Statement<Row>;
}

export interface NamedStatement<Row> extends Omit<Statement<Row>, 'reader'> {
  one(...parameters: unknown[]): Row;
}

/** Most connections run only a few of the named statements. */
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

export function defineIdHash(database: SqliteDatabase): void {
  const hash = idHashOf(database);
  database.function('hookbox_id_hash', { deterministic: true }, (id: unknown) => hash(String(id)));
}

export function idHashOf(database: SqliteDatabase): IdHash {
  let hash = hashes.get(database);
  if (hash === undefined) {
    const { key } = database.prepare('SELECT key FROM hookbox_id_key WHERE rowid = 1').get() as { key: string };
    // Senders cannot make ids collide, because the key is secret. Six bytes keep the index small.
    hash = (id) => sha256('sha256', key + id, 'buffer').readUIntBE(0, 6);
    hashes.set(database, hash);
  }
  return hash;
}

/** The index contains hashes, so the key decides. */
export function keyIs(id = ':id', endpoint = ':endpoint', row?: string): string {
  const of = row === undefined ? '' : `${row}.`;
  return `${of}id_hash = hookbox_id_hash(${id}) AND ${of}id = ${id} AND ${of}endpoint = ${endpoint}`;
}

export function newestSeq(database: SqliteDatabase): number {
  return statement<{ seq: number | null }>(database, 'SELECT max(seq) AS seq FROM hookbox_events').get()?.seq ?? 0;
}
