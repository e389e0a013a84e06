import {
  existsSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  accessSync,
  constants,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { messageOf } from '../../errors.ts';
import { performance } from '../../host/real-timers.ts';
import {
  whyHidden,
  whyNoAccess,
  mountedType,
  networkFileSystem,
  assertOneName,
} from '../../inbox/sqlite/opening/usable-file.ts';
import { openConnection } from '../../inbox/sqlite/opening/better-sqlite.ts';
import type { SqliteDatabase } from '../../inbox/sqlite/opening/database.ts';
import { longestLog } from '../../inbox/sqlite/opening/checkpoints.ts';
import { KNOWN_VERSION, versionOf } from '../../inbox/sqlite/opening/schema.ts';
import { assertDurable, openFile, PAGE_BYTES } from '../../inbox/sqlite/opening/open.ts';
import { ok, problem, warning, type Finding } from './machine-checks.ts';

/** Everything about the folder that the inbox is in; the first that is wrong with it makes the rest pointless. */
export function checkFolder(db: string): readonly Finding[] {
  const file = resolve(db);
  const folder = dirname(existsSync(file) ? realpathSync(file) : file);
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    const what = whyHidden(file) ?? `${folder} is not a folder`;
    return [problem('folder', what, 'Create the folder, or use a different --db.')];
  }
  return [checkFileSystem(folder), checkSpace(folder), ...checkWriting(folder)];
}

/** File systems that are memory, and one that goes with its container; by their names in /proc/self/mounts. */
const FLEETING: Readonly<Record<string, string>> = {
  tmpfs: 'which is in memory and is lost when the machine restarts',
  ramfs: 'which is in memory and is lost when the machine restarts',
  overlay: 'which is a layer of a container and is lost with the container',
};

function checkFileSystem(folder: string): Finding {
  const network = networkFileSystem(folder);
  if (network !== null) {
    return problem(
      'file system',
      `${folder} is on a network file system (${network}), where SQLite locks do not work`,
      'Keep the inbox on a local disk.',
    );
  }
  const type = mountedType(folder);
  const fate = type === null ? undefined : FLEETING[type];
  if (fate !== undefined) {
    return warning('file system', `${folder} is on ${type}, ${fate}`, 'Keep the inbox on a permanent disk or volume.');
  }
  return ok('file system', `${folder} is on ${type ?? 'a local disk'}`);
}

const MB = 1_000_000;
const LITTLE_BYTES = 1_000 * MB;
const TOO_LITTLE_BYTES = 100 * MB;

function checkSpace(folder: string): Finding {
  const { bavail, bsize } = statfsSync(folder);
  return judgeSpace(bavail * bsize);
}

/** Says whether so many bytes are enough. */
export function judgeSpace(free: number): Finding {
  const what = `${free < 10_000 * MB ? `${Math.floor(free / MB)} MB` : `${Math.floor(free / MB / 1_000)} GB`} free`;
  const advice = 'Free some space: if the disk is full, the receiver returns 503.';
  if (free < TOO_LITTLE_BYTES) {
    const log = Math.floor((longestLog(free, PAGE_BYTES) * PAGE_BYTES) / MB);
    return problem('disk', `${what}, so hookbox limits the write-ahead log to ${log} MB`, advice);
  }
  return free < LITTLE_BYTES ? warning('disk', what, advice) : ok('disk', what);
}

/** How far the clock of a file system may be away from that of the machine. */
const FILE_CLOCK_MS = 5_000;
const COMMITS = 5;

/** Writes to a database of its own beside the inbox, which is removed again. */
function checkWriting(folder: string): readonly Finding[] {
  let scratch: string | undefined;
  try {
    scratch = mkdtempSync(join(folder, '.hookbox-doctor-'));
    const name = join(scratch, 'clock');
    writeFileSync(name, '');
    const apart = Math.abs(statSync(name).mtimeMs - Date.now());
    const durability = checkDurability(join(scratch, 'scratch.db'));
    if (apart <= FILE_CLOCK_MS) return [durability];
    const seconds = Math.round(apart / 1_000);
    const what = `the clock of the file system differs from the clock of this machine by ${seconds} s`;
    return [durability, warning('file clock', what, 'Check that the disk is local, and set both clocks with NTP.')];
  } catch (failure) {
    return [
      problem(
        'durability',
        `hookbox cannot write to ${folder}: ${messageOf(failure)}`,
        'Check the permissions of the folder.',
      ),
    ];
  } finally {
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
  }
}

/** How long some commits of one row each take, in ms. */
export function commitTimes(database: SqliteDatabase): readonly number[] {
  database.exec('CREATE TABLE hookbox_doctor (written REAL)');
  const insert = database.prepare('INSERT INTO hookbox_doctor VALUES (?)');
  return Array.from({ length: COMMITS }, () => {
    const startedAt = performance.now();
    insert.run(startedAt);
    return performance.now() - startedAt;
  });
}

/** Asked after a write, because better-sqlite3 may lower `synchronous` with the first one. */
function checkDurability(file: string): Finding {
  const database = openFile(file);
  try {
    const times = commitTimes(database);
    assertDurable(database);
    const mode = String(database.pragma('journal_mode', { simple: true }));
    const synchronous = Number(database.pragma('synchronous', { simple: true }));
    const median = times.toSorted((a, b) => a - b)[Math.floor(COMMITS / 2)] ?? 0;
    const named = synchronous === 2 ? 'FULL' : 'EXTRA';
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

const BUSY_MS = 1_000;

/** Looks at the inbox through a connection of its own, and changes nothing. */
export function checkDatabase(file: string): readonly Finding[] {
  if (file === '' || file === ':memory:') {
    return [problem('inbox', 'a database in memory is lost when its process ends', 'Use the path of a file.')];
  }
  const stats = existsSync(file) ? statSync(file) : undefined;
  if (stats === undefined && !existsSync(dirname(file))) return []; // the check of the folder tells
  if (stats === undefined)
    return [ok('inbox', `${file} does not exist yet; the receiver creates it when it first starts`)];
  if (stats.isDirectory())
    return [problem('inbox', `${file} is a folder`, 'Use the path of a file inside this folder.')];
  let database;
  try {
    assertOneName(file);
  } catch (failure) {
    return [problem('inbox', messageOf(failure), 'Always use the same path for the file, in a permanent folder.')];
  }
  try {
    accessSync(file, constants.W_OK);
    database = open(file);
    return look(database, file);
  } catch (failure) {
    return [
      problem(
        'inbox',
        `hookbox cannot use ${file}: ${whyNoAccess(file) ?? messageOf(failure)}`,
        'Check the permissions of the file, or use a different --db.',
      ),
    ];
  } finally {
    database?.close();
  }
}

/**
 * A log beside the file means that another process has it open or has crashed: a connection that can only read leaves
 * both alone. Without a log, such a connection would leave an empty one behind.
 */
function open(file: string): SqliteDatabase {
  const readonly = existsSync(`${file}-wal`) || existsSync(`${file}-journal`);
  const database = openConnection(file, { readonly, fileMustExist: true, timeout: BUSY_MS });
  database.pragma('query_only = ON');
  return database;
}

function look(database: SqliteDatabase, file: string): readonly Finding[] {
  const mode = String(database.pragma('journal_mode', { simple: true }));
  const exists = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'hookbox_migrations'").get() !== undefined;
  if (!exists) return [ok('inbox', `${file} has no inbox yet; the receiver creates the tables when it first starts`)];
  const journal =
    mode === 'wal'
      ? ok('inbox', `${file} is in WAL mode`)
      : warning(
          'inbox',
          `${file} is in journal mode ${mode}`,
          'Nothing to do: hookbox sets WAL mode when it opens the file as an inbox.',
        );
  return [journal, checkVersion(versionOf(database))];
}

/** Says whether this hookbox may use tables of a version. */
export function checkVersion({ version, needs }: { readonly version: number; readonly needs: number }): Finding {
  const what = `the tables have version ${version}; this hookbox supports versions up to ${KNOWN_VERSION}`;
  if (needs > KNOWN_VERSION) return problem('migrations', what, 'Update this installation of hookbox.');
  if (version < KNOWN_VERSION) return ok('migrations', `${what} and upgrades the tables at its next start`);
  return ok('migrations', what);
}
