import { arch, platform } from 'node:os';
import Database from 'better-sqlite3';
import { InboxOpenError, messageOf } from '../../../errors.ts';
import { nodeTooOld } from '../../../host/node-version.ts';
import type { SqliteDatabase } from './database.ts';

interface OpenOptions {
  readonly readonly?: boolean;
  readonly timeout?: number;
  readonly fileMustExist?: boolean;
}

type DatabaseClass = new (path: string, options?: OpenOptions) => SqliteDatabase;

let isLoaded = false;

/**
 * The first connection loads the binary, which would crash a Node that is too old.
 *
 * @throws InboxOpenError `NODE_TOO_OLD` or `SQLITE_DOES_NOT_LOAD`
 */
export function loadBetterSqlite(): DatabaseClass {
  if (isLoaded) return Database;
  const tooOld = nodeTooOld();
  if (tooOld !== null) throw new InboxOpenError('NODE_TOO_OLD', tooOld);
  try {
    new Database(':memory:').close();
    isLoaded = true;
    return Database;
  } catch (cause) {
    throw new InboxOpenError('SQLITE_DOES_NOT_LOAD', whyNotLoaded(cause), { cause });
  }
}

/**
 * A file of unknown origin must not call functions in triggers, views and generated columns. Temporary data stays in
 * memory,
 * because SQLite's temporary folder may be full or read-only.
 */
export function openConnection(path: string, options?: OpenOptions): SqliteDatabase {
  const database = new (loadBetterSqlite())(path, options);
  database.pragma('trusted_schema = OFF');
  database.pragma('temp_store = MEMORY');
  return database;
}

export function whyNoTemporaryFiles(): string | null {
  const temporary = new (loadBetterSqlite())(''); // SQLite's name for a database in a temporary file
  try {
    temporary.pragma('cache_size = 1');
    temporary.exec('CREATE TABLE filler (bytes); INSERT INTO filler VALUES (zeroblob(100000))'); // more than its cache
    return null;
  } catch (failure) {
    return messageOf(failure);
  } finally {
    temporary.close();
  }
}

const NEEDS = 'Node, Bun or Deno on x64 or arm64; Linux (glibc 2.34 or newer, or musl), macOS or Windows; and a disk';

function whyNotLoaded(cause: unknown): string {
  return (
    `better-sqlite3 does not load on ${systemName()}: ${messageOf(cause)}. It needs ${NEEDS}. Install it on this ` +
    'machine with this version of Node: delete node_modules, then run npm ci. A copy from another system does ' +
    'not work. If the system is too old, use a newer base image, or compile better-sqlite3: npm rebuild ' +
    'better-sqlite3 --build-from-source.'
  );
}

function systemName(): string {
  const name = `${platform()} ${arch()}`;
  if (platform() !== 'linux') return name;
  try {
    const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
    const { glibcVersionRuntime: glibc } = header;
    return `${name} with ${glibc === undefined ? 'musl' : `glibc ${glibc}`}`;
  } catch {
    return name; // Bun and Deno have no such report
  }
}
