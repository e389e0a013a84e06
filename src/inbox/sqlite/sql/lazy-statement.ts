import type { SqliteDatabase, SqliteStatement } from '../opening/database.ts';

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
