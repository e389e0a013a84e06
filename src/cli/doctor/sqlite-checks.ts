import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { messageOf } from '../../errors.ts';
import { performance } from '../../host/real-timers.ts';
import { openConnection, whyNoTemporaryFiles } from '../../inbox/sqlite/opening/better-sqlite.ts';
import { longestLog } from '../../inbox/sqlite/opening/checkpoints.ts';
import type { SqliteDatabase } from '../../inbox/sqlite/opening/database.ts';
import { assertDurable, openFile, PAGE_BYTES } from '../../inbox/sqlite/opening/open.ts';
import { KNOWN_VERSION, versionOf } from '../../inbox/sqlite/opening/schema.ts';
import {
  assertOneName,
  mountedType,
  networkFileSystem,
  whyHidden,
  whyNoAccess,
} from '../../inbox/sqlite/opening/usable-file.ts';
import { ok, problem, warning, type Finding } from './machine-checks.ts';

export function checkSqlite(): Finding {
  try {
    const database = openConnection(':memory:');
    const { version } = database.prepare('SELECT sqlite_version() AS version').get() as { readonly version: string };
    database.close();
    return ok('better-sqlite3', `loads, with SQLite ${version}`);
  } catch (failure) {
    return problem(
      'better-sqlite3',
      messageOf(failure),
      'Remove node_modules, then install again on this machine with this version of Node.',
    );
  }
}

/** For a connection of the application: hookbox's own keep temporary data in memory. */
export function checkTemporaryFiles(): Finding {
  const why = whyNoTemporaryFiles();
  if (why === null) return ok('temporary files', 'SQLite can create temporary files');
  return warning(
    'temporary files',
    `SQLite cannot create temporary files: ${why}`,
    'An inbox that is opened by its path needs no temporary files. If you pass your own connection ({ database }), run PRAGMA temp_store = MEMORY on it, or set SQLITE_TMPDIR to a writable folder with free space.',
  );
}

export function checkFolder(db: string): readonly Finding[] {
  const file = resolve(db);
  const folder = dirname(existsSync(file) ? realpathSync(file) : file);
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    const what = whyHidden(file) ?? `${folder} is not a folder`;
    return [problem('folder', what, 'Create the folder, or use a different --db.')];
  }
  const { bavail, bsize } = statfsSync(folder);
  return [checkFileSystem(folder), judgeSpace(bavail * bsize), ...checkWriting(folder)];
}

const IN_MEMORY = 'which is in memory and is lost when the machine restarts';
/** Temporary file systems, by their names in /proc/self/mounts. */
const FLEETING: Readonly<Record<string, string>> = {
  tmpfs: IN_MEMORY,
  ramfs: IN_MEMORY,
  overlay: 'which is a layer of a container and is lost with the container',
};

function checkFileSystem(folder: string): Finding {
  const network = networkFileSystem(folder);
  if (network !== null) {
    const what = `${folder} is on a network file system (${network}), where SQLite locks do not work`;
    return problem('file system', what, 'Keep the inbox on a local disk.');
  }
  const type = mountedType(folder);
  const fate = FLEETING[type ?? ''];
  if (fate === undefined) return ok('file system', `${folder} is on ${type ?? 'a local disk'}`);
  return warning('file system', `${folder} is on ${type}, ${fate}`, 'Keep the inbox on a permanent disk or volume.');
}

const MB = 1_000_000;

export function judgeSpace(free: number): Finding {
  const what = `${free < 10_000 * MB ? `${Math.floor(free / MB)} MB` : `${Math.floor(free / MB / 1_000)} GB`} free`;
  const advice = 'Free some space: if the disk is full, the receiver returns 503.';
  if (free < 100 * MB) {
    const log = Math.floor((longestLog(free, PAGE_BYTES) * PAGE_BYTES) / MB);
    return problem('disk', `${what}, so hookbox limits the write-ahead log to ${log} MB`, advice);
  }
  return free < 1_000 * MB ? warning('disk', what, advice) : ok('disk', what);
}

const TOLERATED_FILE_CLOCK_MS = 5_000;

function checkWriting(folder: string): readonly Finding[] {
  let scratch: string | undefined;
  try {
    scratch = mkdtempSync(join(folder, '.hookbox-doctor-'));
    const name = join(scratch, 'clock');
    writeFileSync(name, '');
    const apart = Math.abs(statSync(name).mtimeMs - Date.now());
    const durability = checkDurability(join(scratch, 'scratch.db'));
    if (apart <= TOLERATED_FILE_CLOCK_MS) return [durability];
    const seconds = Math.round(apart / 1_000);
    const what = `the clock of the file system differs from the clock of this machine by ${seconds} s`;
    return [durability, warning('file clock', what, 'Check that the disk is local, and set both clocks with NTP.')];
  } catch (failure) {
    const what = `hookbox cannot write to ${folder}: ${messageOf(failure)}`;
    return [problem('durability', what, 'Check the permissions of the folder.')];
  } finally {
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
  }
}

/** Checks after a write, because better-sqlite3 may lower `synchronous` with the first one. */
function checkDurability(file: string): Finding {
  const database = openFile(file);
  try {
    const times = commitTimes(database).toSorted((a, b) => a - b);
    const median = times[times.length >> 1] ?? 0;
    assertDurable(database);
    const mode = String(database.pragma('journal_mode', { simple: true }));
    const named = Number(database.pragma('synchronous', { simple: true })) === 2 ? 'FULL' : 'EXTRA';
    return ok(
      'durability',
      `${mode.toUpperCase()} and synchronous ${named} after a write; a commit takes ${median.toFixed(2)} ms`,
    );
  } catch (failure) {
    return problem('durability', messageOf(failure), 'Keep the inbox where SQLite can sync each commit.');
  } finally {
    database.close();
  }
}

export function commitTimes(database: SqliteDatabase): readonly number[] {
  database.exec('CREATE TABLE hookbox_doctor (written REAL)');
  const insert = database.prepare('INSERT INTO hookbox_doctor VALUES (?)');
  return Array.from({ length: 5 }, () => {
    const startedAt = performance.now();
    insert.run(startedAt);
    return performance.now() - startedAt;
  });
}

export function checkDatabase(file: string): readonly Finding[] {
  if (file === '' || file === ':memory:') {
    return [problem('inbox', 'a database in memory is lost when its process ends', 'Use the path of a file.')];
  }
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined && !existsSync(dirname(file))) return []; // `checkFolder` says so
  if (stats === undefined)
    return [ok('inbox', `${file} does not exist yet; the receiver creates it when it first starts`)];
  if (stats.isDirectory())
    return [problem('inbox', `${file} is a folder`, 'Use the path of a file inside this folder.')];
  try {
    assertOneName(file);
  } catch (failure) {
    return [problem('inbox', messageOf(failure), 'Always use the same path for the file, in a permanent folder.')];
  }
  let database;
  try {
    accessSync(file, constants.W_OK);
    database = open(file);
    return checkTables(database, file);
  } catch (failure) {
    const what = `hookbox cannot use ${file}: ${whyNoAccess(file) ?? messageOf(failure)}`;
    return [problem('inbox', what, 'Check the permissions of the file, or use a different --db.')];
  } finally {
    database?.close();
  }
}

/**
 * A log beside the file means that another process has it open or has crashed. A read-only connection does not touch
 * the two. Without a log, such a connection would leave an empty one.
 */
function open(file: string): SqliteDatabase {
  const readonly = existsSync(`${file}-wal`) || existsSync(`${file}-journal`);
  const database = openConnection(file, { readonly, fileMustExist: true, timeout: 1_000 });
  database.pragma('query_only = ON');
  return database;
}

function checkTables(database: SqliteDatabase, file: string): readonly Finding[] {
  const exists = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'hookbox_migrations'").get() !== undefined;
  if (!exists) return [ok('inbox', `${file} has no inbox yet; the receiver creates the tables when it first starts`)];
  const mode = String(database.pragma('journal_mode', { simple: true }));
  const advice = 'Nothing to do: hookbox sets WAL mode when it opens the file as an inbox.';
  const journal =
    mode === 'wal'
      ? ok('inbox', `${file} is in WAL mode`)
      : warning('inbox', `${file} is in journal mode ${mode}`, advice);
  return [journal, checkVersion(versionOf(database))];
}

export function checkVersion({ version, needs }: { readonly version: number; readonly needs: number }): Finding {
  const what = `the tables have version ${version}; this hookbox supports versions up to ${KNOWN_VERSION}`;
  if (needs > KNOWN_VERSION) return problem('migrations', what, 'Update this installation of hookbox.');
  if (version < KNOWN_VERSION) return ok('migrations', `${what} and upgrades the tables at its next start`);
  return ok('migrations', what);
}
