import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import { performance } from '../../../host/real-timers.ts';
import { InboxUnavailableError } from '../../../errors.ts';
import { loadBetterSqlite } from './better-sqlite.ts';
import { fileOf, type SqliteDatabase } from './database.ts';

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
   * Other programs never see writes to a replaced file.
   *
   * @throws InboxUnavailableError if the path has no file
   */
  isReplaced(): boolean {
    const now = identityOf(this.#path);
    if (now !== null) return now !== this.#main;
    throw new InboxUnavailableError('FAILED', `${this.#path} is gone. Put the file back: it contains your events.`);
  }

  /** The contents of a deleted log are lost. An open log keeps its inode. */
  isLogGone(): boolean {
    const now = identityOf(this.#logPath);
    this.#log ??= now;
    if (now === this.#log) return false;
    if (this.isLogInUse() !== false) return true;
    // The application left WAL mode and came back, so no connection writes to the old log.
    this.#log = now;
    return false;
  }

  /** Wherever the log is now; `null` if unknown. */
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
 * Another SQLite library in this process ignores our locks, and deletes our log when it closes the file. Each library
 * opens the
 * index of a log once. Only Linux tells.
 */
export function isInAnotherLibrary(file: string): boolean {
  return openIndexes(file).length > 1;
}

/** If the log is gone, our index may be deleted, too; Linux adds that to its path. */
export function isStillInAnotherLibrary(file: string): boolean {
  return [...openIndexes(file), ...openIndexes(file, ' (deleted)')].length > 1;
}

function openIndexes(file: string, suffix = ''): readonly string[] {
  return (descriptors() ?? []).map(pathOf).filter((path) => path === `${file}-shm${suffix}`);
}

export function descriptorsOf(file: string): readonly number[] {
  const identity = identityOf(file);
  const open = descriptors()?.filter((descriptor) => identityOf(descriptor) === identity) ?? [];
  return open.map((descriptor) => Number(descriptor.slice(DESCRIPTORS.length + 1)));
}

/** `null` except on Linux, and in a sandbox. */
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

/** Without a sign of another library, the watch looks this often. */
const LOOK_MS = 1_000;

/** Looks for another library before each transaction. */
export class LibraryWatch {
  readonly #file: string;
  #changed = NaN;
  #lookedAt = -Infinity;

  constructor(file: string) {
    this.#file = file;
  }

  isInAnotherLibrary(): boolean {
    if (platform() !== 'linux') return false;
    // A library writes the index anew when it opens a file.
    const changed = statSync(`${this.#file}-shm`, { throwIfNoEntry: false })?.ctimeMs ?? NaN;
    const now = performance.now();
    if (changed === this.#changed && now - this.#lookedAt < LOOK_MS) return false;
    this.#changed = changed;
    this.#lookedAt = now;
    return isInAnotherLibrary(this.#file);
  }
}

/** Why no other connection in this process may even read the file; `null` if one may. */
export function whyNoSecondReader(database: SqliteDatabase): string | null {
  if (database.memory) return 'the database is in memory';
  if (!isOfOurCopy(database))
    return 'the connection belongs to a copy of better-sqlite3 other than the one that hookbox loads';
  if (isInAnotherLibrary(fileOf(database))) return IN_ANOTHER_LIBRARY;
  if (database.pragma('locking_mode', { simple: true }) === 'exclusive')
    return 'the connection has locking_mode = EXCLUSIVE';
  return null;
}

/** Why no thread may open the application's file; `null` if no reason is known. */
export function whyNoSecondConnection(database: SqliteDatabase): string | null {
  // A trigger may call functions of the application's connection.
  const hasTrigger = ['sqlite_master', 'sqlite_temp_master'].some((table) => {
    const sql = `SELECT 1 FROM ${table} WHERE type = 'trigger' AND tbl_name LIKE 'hookbox\\_%' ESCAPE '\\'`;
    return database.prepare(sql).get() !== undefined;
  });
  return hasTrigger ? 'you added a trigger to a hookbox table' : whyNoSecondReader(database);
}

let ownNativeClass: unknown;

/** Compares native objects, because the option `nativeBinding` gives the same class another SQLite. */
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

/** better-sqlite3 keeps it under a symbol. */
function nativeClassOf(database: SqliteDatabase): unknown {
  return Object.getOwnPropertySymbols(database)
    .map((symbol) => Object(Reflect.get(database, symbol)).constructor as unknown)
    .find((native) => native !== Object && typeof native === 'function');
}
