import { causesOf, InboxOpenError, InboxUnavailableError, isError, isInstance } from '../../../errors.ts';

/**
 * The part of a better-sqlite3 connection that hookbox uses. You can pass your own connection. This type does not
 * depend on the types of better-sqlite3.
 */
export interface SqliteDatabase {
  /** The path with which the connection was opened. */
  readonly name: string;
  readonly open: boolean;
  readonly inTransaction: boolean;
  readonly readonly: boolean;
  readonly memory: boolean;
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
  pragma(source: string, options?: { simple?: boolean }): unknown;
  function(name: string, options: { deterministic: boolean }, work: (...values: unknown[]) => unknown): unknown;
  close(): unknown;
}

/** A prepared statement of a better-sqlite3 connection. */
export interface SqliteStatement {
  /** Whether it returns rows. */
  readonly reader: boolean;
  run(...parameters: unknown[]): { changes: number; lastInsertRowid: number | bigint };
  get(...parameters: unknown[]): unknown;
  all(...parameters: unknown[]): unknown[];
  /**
   * Sets whether integers are read as BigInt. hookbox always requests plain numbers, because your connection may
   * default to BigInt.
   */
  safeIntegers(toggle?: boolean): SqliteStatement;
}

/** Correct even if the working directory has changed. */
export function fileOf(database: SqliteDatabase): string {
  const files = database.pragma('database_list') as { name: string; file: string }[];
  return files.find(({ name }) => name === 'main')?.file ?? database.name;
}

/** Looks through causes, because query builders wrap errors. */
export function fileFaultIn(thrown: unknown): unknown {
  return causesOf(thrown).find(isFileFault) ?? null;
}

/** The extended result code, such as `SQLITE_BUSY`; `null` for other errors. */
export function sqliteCode(failure: unknown): string | null {
  if (!isError(failure) || !('code' in failure)) return null;
  return typeof failure.code === 'string' && failure.code.startsWith('SQLITE_') ? failure.code : null;
}

export function isBusy(failure: unknown): boolean {
  if (isInstance(failure, InboxOpenError)) return failure.code === 'LOCKED';
  return /^SQLITE_(BUSY|LOCKED)/.test(sqliteCode(failure) ?? '');
}

/** Reopening the file may help. */
export function isFileFault(failure: unknown): boolean {
  return /^SQLITE_(CANTOPEN|CORRUPT|FULL|IOERR|NOTADB|READONLY)/.test(sqliteCode(failure) ?? '');
}

export function isFull(failure: unknown): boolean {
  return sqliteCode(failure)?.startsWith('SQLITE_FULL') === true;
}

export function isConnectionFault(failure: unknown): boolean {
  return failure instanceof TypeError && /busy executing|not open/.test(failure.message);
}

/** Other rows of the group can still be stored. */
export function isRowFault(failure: unknown): boolean {
  if (failure instanceof InboxOpenError || failure instanceof InboxUnavailableError) return false;
  const code = sqliteCode(failure);
  if (code === null) return !isConnectionFault(failure);
  return /^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH|RANGE)/.test(code);
}
