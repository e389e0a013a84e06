import { hash } from 'node:crypto';
import type { SqliteDatabase, SqliteStatement } from '../opening/database.ts';

const prepared = new WeakMap<SqliteDatabase, Map<string, SqliteStatement>>();

/** A statement of a connection, prepared on first use: operations are many, and most processes use none of them. */
export function statement(database: SqliteDatabase, sql: string): SqliteStatement {
  let statements = prepared.get(database);
  if (statements === undefined) {
    statements = new Map();
    prepared.set(database, statements);
  }
  let found = statements.get(sql);
  if (found === undefined) {
    found = database.prepare(sql).safeIntegers(false);
    statements.set(sql, found);
  }
  return found;
}

/** A statement that is prepared when it is first run: there are some hundred, and most connections run a few of them. */
export function lazyStatement(database: SqliteDatabase, sql: string): SqliteStatement {
  let prepared: SqliteStatement | undefined;
  const statement = (): SqliteStatement => (prepared ??= database.prepare(sql).safeIntegers(false));
  return {
    get reader() {
      return statement().reader;
    },
    run: (...parameters) => statement().run(...parameters),
    get: (...parameters) => statement().get(...parameters),
    all: (...parameters) => statement().all(...parameters),
    safeIntegers: (toggle) => statement().safeIntegers(toggle),
  };
}

/** What a sender cannot foresee: the file has a key of its own, so nobody makes ids collide on purpose. */
export function hashOfId(key: string, id: string): number {
  // 48 bits: a whole number of JavaScript, and six bytes of an index.
  return hash('sha256', key + id, 'buffer').readUIntBE(0, 6);
}

/** Hashes the ids of a file. */
export type IdHash = (id: string) => number;

const hashes = new WeakMap<SqliteDatabase, IdHash>();

/** Gives a connection the function `hookbox_id_hash(id)`, which statements that find an event by its key use. */
export function defineIdHash(database: SqliteDatabase): void {
  const hash = idHashOf(database);
  database.function('hookbox_id_hash', { deterministic: true }, (id: unknown) => hash(String(id)));
}

/** The same function for statements to which the hash is given. */
export function idHashOf(database: SqliteDatabase): IdHash {
  let hash = hashes.get(database);
  if (hash === undefined) {
    const { key } = database.prepare('SELECT key FROM hookbox_id_key WHERE rowid = 1').get() as { key: string };
    hash = (id) => hashOfId(key, id);
    hashes.set(database, hash);
  }
  return hash;
}

/**
 * Finds an event by its key: the hash by its index, and among the few rows of one hash the key itself.
 *
 * @param id - the parameter with the id, `endpoint` that with the endpoint
 */
export function keyIs(id = ':id', endpoint = ':endpoint'): string {
  return `id_hash = hookbox_id_hash(${id}) AND id = ${id} AND endpoint = ${endpoint}`;
}

/** The `seq` of the event that was stored last; 0 when there is none. */
export function newestSeq(database: SqliteDatabase): number {
  const row = statement(database, 'SELECT max(seq) AS seq FROM hookbox_events').get();
  return (row as { seq: number | null }).seq ?? 0;
}
