import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../errors.ts';
import { whyNoAccess, assertOneName } from '../../inbox/sqlite/opening/usable-file.ts';
import { openConnection } from '../../inbox/sqlite/opening/better-sqlite.ts';
import type { SqliteDatabase } from '../../inbox/sqlite/opening/database.ts';
import { KNOWN_VERSION, versionOf } from '../../inbox/sqlite/opening/schema.ts';
import { ok, problem, warning, type Finding } from './finding.ts';

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
