import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import { performance } from '../../../host/real-timers.ts';
import { InboxUnavailableError } from '../../../errors.ts';
import { loadBetterSqlite } from './better-sqlite.ts';
import { fileOf, type SqliteDatabase } from './database.ts';

/** Whether the file that a connection has open is the one at its path. */
export type Place = 'in place' | 'replaced' | 'log gone';

export class FilesInUse {
  readonly #path: string;
  readonly #main: string | null;
  readonly #logPath: string;
  #log: string | null;

  /**
   * @param path - where hookbox looks for the file
   * @param file - the path behind all links; the log is beside it
   */
  constructor(path: string, file: string) {
    this.#path = path;
    this.#main = identityOf(path);
    this.#logPath = `${file}-wal`;
    this.#log = identityOf(this.#logPath);
  }

  /**
   * What is written to a replaced file is lost to everyone else.
   *
   * @throws InboxUnavailableError if the path has no file
   */
  isReplaced(): boolean {
    const now = identityOf(this.#path);
    if (now !== null) return now !== this.#main;
    throw new InboxUnavailableError('FAILED', `${this.#path} is gone. Put the file back: it contains your events.`);
  }

  /** Whether the open log is no longer the file at its path, so that its contents are lost. A log keeps its inode while it is open. */
  isLogGone(): boolean {
    const now = identityOf(this.#logPath);
    this.#log ??= now;
    if (now === this.#log) return false;
    if (this.isLogInUse() !== false) return true;
    // An application that left WAL mode and came back has deleted the old log, and no connection writes to it.
    this.#log = now;
    return false;
  }

  /** Whether this process has the log open, wherever it is now; `null` if unknown. */
  isLogInUse(): boolean | null {
    return descriptors()?.some((descriptor) => identityOf(descriptor) === this.#log) ?? null;
  }

  /** The application has used another journal mode for a while. */
  forgetLog(): void {
    this.#log = null;
  }

  place(): Place {
    if (identityOf(this.#path) !== this.#main) return 'replaced';
    return this.isLogGone() ? 'log gone' : 'in place';
  }
}

export const IN_ANOTHER_LIBRARY =
  'a second SQLite library in this process has the file open, and neither library sees the locks of the other';

export function logGone(file: string): string {
  return (
    `${file}-wal was deleted while it was in use, either by hand or by another SQLite library in this process, ` +
    'which opened and closed the database.'
  );
}

function identityOf(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`;
}

const DESCRIPTORS = '/proc/self/fd';

/**
 * Whether another SQLite library in this process has the file open, too. SQLite's locks do not work between the two, and the
 * library that closes the file first deletes the other's log. A library opens the index of a log once, however many
 * connections and threads it has. Only Linux tells.
 */
export function isInAnotherLibrary(file: string): boolean {
  return openIndexes(file).length > 1;
}

/** The same if the log is gone: the index of ours may be deleted, too, which Linux adds to its path. */
export function isStillInAnotherLibrary(file: string): boolean {
  return [...openIndexes(file), ...openIndexes(file, ' (deleted)')].length > 1;
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

/** `null` except on Linux, and in a sandbox such as Deno's. */
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

/** Without a sign of another library, the watch looks for one so often. */
const LOOK_MS = 1_000;

/** Looks for another library before each transaction, as cheaply as possible. */
export class LibraryWatch {
  readonly #file: string;
  #changed = NaN;
  #lookedAt = -Infinity;

  constructor(file: string) {
    this.#file = file;
  }

  isInAnotherLibrary(): boolean {
    if (platform() !== 'linux') return false;
    // A library that opens a file writes the index of its log anew.
    const changed = statSync(`${this.#file}-shm`, { throwIfNoEntry: false })?.ctimeMs ?? NaN;
    const now = performance.now();
    if (changed === this.#changed && now - this.#lookedAt < LOOK_MS) return false;
    this.#changed = changed;
    this.#lookedAt = now;
    return isInAnotherLibrary(this.#file);
  }
}

/** Why no other connection in this process may open the file, not even for reading; `null` if one may. */
export function whyNoSecondReader(database: SqliteDatabase): string | null {
  if (database.memory) return 'the database is in memory';
  if (!isOfOurCopy(database))
    return 'the connection belongs to a copy of better-sqlite3 other than the one that hookbox loads';
  if (isInAnotherLibrary(fileOf(database))) return IN_ANOTHER_LIBRARY;
  if (database.pragma('locking_mode', { simple: true }) === 'exclusive')
    return 'the connection has locking_mode = EXCLUSIVE';
  return null;
}

/** Why no thread may open the file of an application's connection; `null` if no reason is known. */
export function whyNoSecondConnection(database: SqliteDatabase): string | null {
  // A trigger may call functions that only the application's connection has. Temporary triggers have their own table.
  const hasTrigger = ['sqlite_master', 'sqlite_temp_master'].some((table) => {
    const sql = `SELECT 1 FROM ${table} WHERE type = 'trigger' AND tbl_name LIKE 'hookbox\\_%' ESCAPE '\\'`;
    return database.prepare(sql).get() !== undefined;
  });
  return hasTrigger ? 'you added a trigger to a hookbox table' : whyNoSecondReader(database);
}

let ownNativeClass: unknown;

/**
 * Whether a connection uses the same SQLite as hookbox. The class of the connection does not tell, because the option
 * `nativeBinding` gives it another SQLite; the native object behind the connection does.
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

/** better-sqlite3 keeps the native object under a symbol. */
function nativeClassOf(database: SqliteDatabase): unknown {
  return Object.getOwnPropertySymbols(database)
    .map((symbol) => Object(Reflect.get(database, symbol)).constructor as unknown)
    .find((native) => native !== Object && typeof native === 'function');
}
