import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import { performance } from '../../../host/real-timers.ts';
import { InboxUnavailableError } from '../../../errors.ts';
import { loadBetterSqlite } from './better-sqlite.ts';
import { fileOf, type SqliteDatabase } from './database.ts';

/** Whether what a connection has open is what lies at its path. */
export type Place = 'in place' | 'replaced' | 'log gone';

/** Which files a connection has open, to notice that others lie in their place. */
export class FilesInUse {
  readonly #path: string;
  readonly #main: string | null;
  readonly #logPath: string;
  #log: string | null;

  /**
   * @param path - where the file is looked for
   * @param file - where it lies, whatever links lead there; its log lies beside it
   */
  constructor(path: string, file: string) {
    this.#path = path;
    this.#main = identityOf(path);
    this.#logPath = `${file}-wal`;
    this.#log = identityOf(this.#logPath);
  }

  /**
   * Deleted or replaced under our feet: what is written to the old file is lost to everyone else.
   *
   * @throws InboxUnavailableError when there is none
   */
  isReplaced(): boolean {
    const now = identityOf(this.#path);
    if (now !== null) return now !== this.#main;
    throw new InboxUnavailableError('FAILED', `${this.#path} is gone. Put the file back: it contains your events.`);
  }

  /**
   * The file is there, but its write-ahead log is not the one that is written to, which nobody will ever read. A log
   * keeps its inode while somebody has it open, checkpoints included.
   */
  isLogGone(): boolean {
    const now = identityOf(this.#logPath);
    this.#log ??= now;
    if (now === this.#log) return false;
    if (this.isLogInUse() !== false) return true;
    // An application that left WAL mode and came back has deleted the old log; no connection writes to that one.
    this.#log = now;
    return false;
  }

  /** Whether somebody in this process has the log open, wherever it lies now; `null` where that cannot be known. */
  isLogInUse(): boolean | null {
    return descriptors()?.some((descriptor) => identityOf(descriptor) === this.#log) ?? null;
  }

  /** There was none for a while: the application had another journal mode. */
  forgetLog(): void {
    this.#log = null;
  }

  place(): Place {
    if (identityOf(this.#path) !== this.#main) return 'replaced';
    return this.isLogGone() ? 'log gone' : 'in place';
  }
}

const DESCRIPTORS = '/proc/self/fd';
/** What Linux adds to the path of a file that lies nowhere any more. */
const DELETED = ' (deleted)';

export const IN_ANOTHER_LIBRARY =
  'a second SQLite library in this process has the file open, and neither library sees the locks of the other';

/** What is answered while the log of a file is not the one that a connection writes to. */
export function logGone(file: string): string {
  return (
    `${file}-wal was deleted while it was in use, either by hand or by another SQLite library in this process, ` +
    'which opened and closed the database.'
  );
}

/** `null` where there is no file. */
function identityOf(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`;
}

/**
 * Whether another SQLite library in this process has a file open that ours has open. The locks of SQLite do not hold
 * between the two, and the one that closes it first deletes the log under the other. A library opens the index of a log
 * once, however many connections it has, in whatever thread. Only Linux can be asked.
 */
export function isInAnotherLibrary(file: string): boolean {
  return openIndexes(file).length > 1;
}

/** The same where the log is gone, and maybe its index: then that of ours is none of those that lie there. */
export function isStillInAnotherLibrary(file: string): boolean {
  return [...openIndexes(file), ...openIndexes(file, DELETED)].length > 1;
}

function openIndexes(file: string, suffix = ''): readonly string[] {
  return (descriptors() ?? []).map(pathOf).filter((path) => path === `${file}-shm${suffix}`);
}

/** The descriptors of a file in all threads of this process. Empty except on Linux. */
export function descriptorsOf(file: string): readonly number[] {
  const identity = identityOf(file);
  const open = descriptors()?.filter((descriptor) => identityOf(descriptor) === identity) ?? [];
  return open.map((descriptor) => Number(descriptor.slice(DESCRIPTORS.length + 1)));
}

/** `null` where nobody says: elsewhere than on Linux, or in a sandbox such as Deno's. */
function descriptors(): string[] | null {
  if (platform() !== 'linux') return null;
  try {
    return readdirSync(DESCRIPTORS).map((name) => `${DESCRIPTORS}/${name}`);
  } catch {
    return null;
  }
}

function pathOf(descriptor: string): string {
  try {
    return readlinkSync(descriptor);
  } catch {
    return ''; // closed meanwhile
  }
}

/** So often it is looked for another library, if nothing shows that one has opened the file. */
const LOOK_MS = 1_000;

/** Looks for another library before each transaction, as cheaply as can be. */
export class LibraryWatch {
  readonly #file: string;
  #changed = NaN;
  #lookedAt = -Infinity;

  constructor(file: string) {
    this.#file = file;
  }

  /** Who opens a file writes the index of its log anew, where it thinks that it is alone. */
  isInAnotherLibrary(): boolean {
    if (platform() !== 'linux') return false;
    const changed = statSync(`${this.#file}-shm`, { throwIfNoEntry: false })?.ctimeMs ?? NaN;
    const now = performance.now();
    if (changed === this.#changed && now - this.#lookedAt < LOOK_MS) return false;
    this.#changed = changed;
    this.#lookedAt = now;
    return isInAnotherLibrary(this.#file);
  }
}

/** Why nobody else in this process may open the file of a connection, not even to read; `null` where somebody may. */
export function whyNoSecondReader(database: SqliteDatabase): string | null {
  if (database.memory) return 'the database is in memory';
  // Two SQLites in one process do not see each other's locks, and closing one connection drops those of the other.
  if (!isOfOurCopy(database))
    return 'the connection belongs to a copy of better-sqlite3 other than the one that hookbox loads';
  if (isInAnotherLibrary(fileOf(database))) return IN_ANOTHER_LIBRARY;
  if (database.pragma('locking_mode', { simple: true }) === 'exclusive')
    return 'the connection has locking_mode = EXCLUSIVE';
  return null;
}

/** Those for one connection alone are in a table of their own. */
const TRIGGERS = ['sqlite_master', 'sqlite_temp_master'].map(
  (table) => `SELECT 1 FROM ${table} WHERE type = 'trigger' AND tbl_name LIKE 'hookbox\\_%' ESCAPE '\\'`,
);

/** Why no thread may open the file of an application's connection itself; `null` if no reason is known. */
export function whyNoSecondConnection(database: SqliteDatabase): string | null {
  // A trigger may call functions that only the application's connection has.
  if (TRIGGERS.some((sql) => database.prepare(sql).get() !== undefined))
    return 'you added a trigger to a hookbox table';
  return whyNoSecondReader(database);
}

let ownNativeClass: unknown;

/**
 * Whether a connection is of the SQLite that we load ourselves. Its class does not tell: the option `nativeBinding`
 * gives the same class another SQLite. What is behind a connection does.
 */
function isOfOurCopy(database: SqliteDatabase): boolean {
  try {
    const Database = loadBetterSqlite();
    if (!(database instanceof Database)) return false;
    if (ownNativeClass === undefined) {
      const ours = new Database(':memory:');
      ownNativeClass = nativeClassOf(ours);
      ours.close();
    }
    return ownNativeClass !== undefined && nativeClassOf(database) === ownNativeClass;
  } catch {
    return false;
  }
}

/** better-sqlite3 keeps SQLite's own connection under a symbol; `undefined` where it does not. */
function nativeClassOf(database: SqliteDatabase): unknown {
  return Object.getOwnPropertySymbols(database)
    .map((symbol) => Object(Reflect.get(database, symbol)).constructor as unknown)
    .find((native) => native !== Object && typeof native === 'function');
}
