import { createHash, randomInt } from 'node:crypto';
import { ConfigurationError, messageOf } from '../errors.ts';
import { createForOwner, whyNoPath } from '../host/files.ts';
import { openConnection } from '../inbox/sqlite/opening/better-sqlite.ts';
import { isBusy, sqliteCode, type SqliteDatabase } from '../inbox/sqlite/opening/database.ts';
import { statement } from '../inbox/sqlite/sql/statement.ts';
import type { ClockReading, SandboxClock } from './clock.ts';
import { SandboxClosedError } from './errors.ts';
import type { Reading, Store, Transaction } from './store.ts';

interface StoreOptions {
  readonly file?: string | undefined;
  readonly clock: SandboxClock;
  /** For a new store; a file keeps its seed. */
  readonly seed?: number | undefined;
  readonly tables: readonly string[];
}

/** `hkSB` in the header of a sandbox's file. */
const APPLICATION_ID = 0x686b5342;
/** Grows with any change to a table, because a sandbox's file is not migrated. */
const VERSION = 3;

const TABLES = `
  CREATE TABLE sandbox (one INTEGER PRIMARY KEY CHECK (one = 1), seed INTEGER NOT NULL, now INTEGER NOT NULL, ahead INTEGER NOT NULL) STRICT;
  CREATE TABLE counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/** A file belongs to one process at a time. A power cut may lose the last moments. */
export function openStore(options: StoreOptions): Store {
  const database = openDatabase(options.file);
  try {
    return storeIn(database, options);
  } catch (failure) {
    database.close();
    throw failure;
  }
}

function storeIn(database: SqliteDatabase, { clock, seed: newSeed = randomInt(2 ** 32), tables }: StoreOptions): Store {
  const isOld = isSandbox(database);
  // Only now, so that a file that does not belong to a sandbox stays unchanged.
  database.pragma('journal_mode = WAL');
  // A commit still survives the end of the process, but not a power cut.
  database.pragma('synchronous = NORMAL');
  database.pragma('foreign_keys = ON');
  if (!isOld) {
    const { now, ahead } = clock.reading();
    database.exec(`BEGIN; ${TABLES} ${tables.join(' ')}
      INSERT INTO sandbox VALUES (1, ${newSeed}, ${now}, ${ahead});
      PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}; COMMIT;`);
  }
  const prepared = (sql: string) => {
    if (!database.open) throw new SandboxClosedError();
    return statement(database, sql);
  };
  const reading: Reading = {
    get: (sql, ...parameters) => prepared(sql).get(...parameters) as never,
    all: (sql, ...parameters) => prepared(sql).all(...parameters) as never[],
  };
  const run: Transaction['run'] = (sql, ...parameters) => prepared(sql).run(...parameters).changes;

  const kept = reading.get('SELECT seed, now, ahead FROM sandbox') as ClockReading & { readonly seed: number };
  const { seed } = kept;
  clock.resume(kept);

  const newId: Transaction['newId'] = (prefix) => {
    const next = 'INSERT INTO counters VALUES (?, 1) ON CONFLICT DO UPDATE SET n = n + 1 RETURNING n';
    const { n } = reading.get(next, prefix) as { readonly n: number };
    return `${prefix}_${lettersOf(`${seed}/${prefix}/${n}`)}`;
  };

  const listeners: (() => void)[] = [];
  return {
    clock,
    seed,
    isOld,
    ...reading,
    write(work) {
      if (database.inTransaction)
        throw new Error('A transaction is already open. Pass it to this function instead of opening another.');
      const { now, ahead } = clock.reading();
      run('BEGIN IMMEDIATE');
      try {
        const result = work({ now, ...reading, run, newId });
        run('UPDATE sandbox SET now = ?, ahead = ?', now, ahead);
        run('COMMIT');
        for (const listener of listeners) listener();
        return result;
      } catch (failure) {
        if (database.inTransaction) run('ROLLBACK');
        throw failure;
      }
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
    // Two processes would send the same deliveries. The lock ends with the process, even if it is killed.
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('user_version'); // takes the lock, and fails for a file that is not a database
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

function isSandbox(database: SqliteDatabase): boolean {
  const id = Number(database.pragma('application_id', { simple: true }));
  const version = Number(database.pragma('user_version', { simple: true }));
  if (id === APPLICATION_ID && version === VERSION) return true;
  if (id === 0 && version === 0 && database.prepare('SELECT 1 FROM sqlite_master').get() === undefined) return false;
  const whose = id === APPLICATION_ID ? 'was created by a different version of hookbox' : 'is not a sandbox file';
  throw new ConfigurationError('INVALID_OPTION', `${database.name} ${whose}. Pass another path.`);
}

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The seeded numbers of the faults have 32 bits and would repeat among some ten thousand ids. */
function lettersOf(name: string): string {
  const bytes = createHash('sha256').update(name).digest().subarray(0, 16);
  return Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join('');
}
