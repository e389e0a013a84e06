import { createHash, randomInt } from 'node:crypto';
import { ConfigurationError, messageOf } from '../errors.ts';
import { createForOwner, whyNoPath } from '../host/files.ts';
import { openConnection } from '../inbox/sqlite/opening/better-sqlite.ts';
import { isBusy, sqliteCode, type SqliteDatabase } from '../inbox/sqlite/opening/database.ts';
import { statement } from '../inbox/sqlite/sql/statement.ts';
import type { ClockReading, SandboxClock } from './clock.ts';
import { SandboxClosedError } from './errors.ts';

/** What is asked of the database. Callers say what their rows look like: they name the columns. */
export interface Reading {
  /** the first row, or `undefined` */
  get(sql: string, ...parameters: readonly unknown[]): unknown;
  all(sql: string, ...parameters: readonly unknown[]): readonly unknown[];
}

/**
 * What may be done while a transaction is open. Whoever changes the state is given it, so that the change, its events
 * and their deliveries are committed together or not at all.
 */
export interface Transaction extends Reading {
  /** the time of everything in this transaction, in milliseconds since 1970 */
  readonly now: number;
  /** @returns how many rows were changed */
  run(sql: string, ...parameters: readonly unknown[]): number;
  /** An id that nothing else has, such as `ord_8sK…`: the same seed and the same calls give the same ids. */
  newId(prefix: string): string;
}

/** Where the state of a sandbox is: a file of its own, or memory. */
export interface Store extends Reading {
  readonly clock: SandboxClock;
  /** what makes its ids and faults, and repeats them */
  readonly seed: number;
  /** whether it was there before, in a file */
  readonly isOld: boolean;
  /**
   * Runs work in one transaction, and commits it: what it throws takes everything back. Work does not wait for
   * anything.
   *
   * @throws Error inside of another one: a function that changes the state takes the transaction instead
   */
  write<T>(work: (transaction: Transaction) => T extends PromiseLike<unknown> ? never : T): T;
  /** Calls back after each commit, and after nothing else. */
  onCommit(listener: () => void): void;
  close(): void;
}

/** Which sandbox a store is of. */
interface StoreOptions {
  /** the path of its file, made where it is not there; in memory unless set */
  readonly file?: string | undefined;
  readonly clock: SandboxClock;
  /** for a new store; a file keeps the one that it was made with */
  readonly seed?: number | undefined;
  /** what each module needs: statements that create its tables */
  readonly tables: readonly string[];
}

/** `hkSB`: says in the header of a file that it is a sandbox's. */
const APPLICATION_ID = 0x686b5342;
/** Grows with any change to a table: a sandbox's file is thrown away rather than migrated. */
const VERSION = 1;
const ID_LETTERS = 16;

const TABLES = `
  CREATE TABLE sandbox (one INTEGER PRIMARY KEY CHECK (one = 1), seed INTEGER NOT NULL, now INTEGER NOT NULL, ahead INTEGER NOT NULL) STRICT;
  CREATE TABLE counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/**
 * Opens the state of a sandbox, and makes it where there is none. A file belongs to one process at a time, and what was
 * committed survives the end of that process; a power cut may take the last moments from it.
 *
 * @throws ConfigurationError `INVALID_OPTION` for a file that is not a sandbox's, in use, or cannot be opened
 */
export function openStore({ file, clock, seed, tables }: StoreOptions): Store {
  const database = openDatabase(file);
  try {
    return opened(database, clock, seed, tables);
  } catch (failure) {
    database.close();
    throw failure;
  }
}

function opened(
  database: SqliteDatabase,
  clock: SandboxClock,
  newSeed: number = randomInt(2 ** 32),
  tables: readonly string[],
): Store {
  const isOld = isSandbox(database);
  // Only now: whatever else it is stays as it was.
  database.pragma('journal_mode = WAL');
  // A commit survives the process all the same: only the machine's own end may take the last ones.
  database.pragma('synchronous = NORMAL');
  database.pragma('foreign_keys = ON');
  if (!isOld) {
    const { now, ahead } = clock.reading();
    database.exec(`BEGIN; ${TABLES} ${tables.join(' ')}
      INSERT INTO sandbox VALUES (1, ${newSeed}, ${now}, ${ahead});
      PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}; COMMIT;`);
  }
  const asked = (sql: string) => {
    if (!database.open) throw new SandboxClosedError();
    return statement(database, sql);
  };
  const get = (sql: string, ...parameters: readonly unknown[]) => asked(sql).get(...parameters);
  const all = (sql: string, ...parameters: readonly unknown[]) => asked(sql).all(...parameters);
  const run = (sql: string, ...parameters: readonly unknown[]) => asked(sql).run(...parameters).changes;

  const kept = get('SELECT seed, now, ahead FROM sandbox') as ClockReading & { readonly seed: number }; // made with the table
  const { seed } = kept;
  clock.resume(kept);

  function committed<T>(work: () => T): T {
    run('BEGIN IMMEDIATE');
    try {
      const done = work();
      run('COMMIT');
      return done;
    } catch (failure) {
      if (database.inTransaction) run('ROLLBACK');
      throw failure;
    }
  }

  function newId(prefix: string): string {
    const next = 'INSERT INTO counters VALUES (?, 1) ON CONFLICT DO UPDATE SET n = n + 1 RETURNING n';
    const { n } = get(next, prefix) as { readonly n: number };
    return `${prefix}_${lettersOf(`${seed}/${prefix}/${n}`)}`;
  }

  const listeners: (() => void)[] = [];
  return {
    clock,
    seed,
    isOld,
    get,
    all,
    write(work) {
      if (database.inTransaction)
        throw new Error('A transaction is already open. Pass it to this function instead of opening another.');
      const { now, ahead } = clock.reading();
      const result = committed(() => {
        const done = work({ now, get, all, run, newId });
        run('UPDATE sandbox SET now = ?, ahead = ?', now, ahead);
        return done;
      });
      for (const listener of listeners) listener();
      return result;
    },
    onCommit: (listener) => void listeners.push(listener),
    close: () => void database.close(),
  };
}

function openDatabase(file: string | undefined): SqliteDatabase {
  const whyNot = file === undefined ? null : whyNoPath(file);
  if (whyNot !== null) {
    throw new ConfigurationError('INVALID_OPTION', `The path of the sandbox's file is invalid. ${whyNot}`);
  }
  let database: SqliteDatabase | undefined;
  try {
    if (file !== undefined) createForOwner(file);
    database = openConnection(file ?? ':memory:', { timeout: 0, fileMustExist: file !== undefined });
    // One process at a time: two would deliver the same. The lock goes with the process, however it ends.
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('user_version'); // takes the lock, and says what the file is not
    return database;
  } catch (failure) {
    database?.close();
    throw new ConfigurationError('INVALID_OPTION', `${file} cannot be opened for a sandbox: ${reasonOf(failure)}.`);
  }
}

function reasonOf(failure: unknown): string {
  if (isBusy(failure)) return 'it is open in another process, such as a second sandbox or a receiver';
  return sqliteCode(failure) === 'SQLITE_NOTADB' ? 'it is not a SQLite database' : messageOf(failure);
}

/** Whether it is a sandbox's file; `false` for one that is empty. */
function isSandbox(database: SqliteDatabase): boolean {
  const id = Number(database.pragma('application_id', { simple: true }));
  const version = Number(database.pragma('user_version', { simple: true }));
  if (id === APPLICATION_ID && version === VERSION) return true;
  if (id === 0 && version === 0 && database.prepare('SELECT 1 FROM sqlite_master').get() === undefined) return false;
  const whose = id === APPLICATION_ID ? 'was created by a different version of hookbox' : 'is not a sandbox file';
  throw new ConfigurationError('INVALID_OPTION', `${database.name} ${whose}. Pass another path.`);
}

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A hash and not the seeded numbers of the faults, whose 32 bits would meet again among some ten thousand ids. */
function lettersOf(name: string): string {
  const bytes = createHash('sha256').update(name).digest().subarray(0, ID_LETTERS);
  return Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join('');
}

/** Inserts a row by the names of its columns: many values in a row are easily mixed up. */
export function insert(
  tx: Transaction,
  table: string,
  row: Readonly<Record<string, string | number | Uint8Array | null>>,
): void {
  const columns = Object.keys(row);
  const marks = columns.map(() => '?').join(', ');
  tx.run(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`, ...Object.values(row));
}
