import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { platform } from 'node:os';
import { dirname, resolve } from 'node:path';
import { ConfigurationError, InboxUnavailableError, messageOf } from '../../../errors.ts';
import { whyNoPath, OWNER_ONLY } from '../../../host/files.ts';
import type { Transfer } from '../../operator/transfer.ts';
import { fileOf, type SqliteDatabase } from '../opening/database.ts';
import { IN_ANOTHER_LIBRARY, isInAnotherLibrary, whyNoSecondReader } from '../opening/files-in-use.ts';
import { TABLES } from '../opening/schema.ts';
import { startWorker } from '../threads/start-worker.ts';
import type { Access } from './access.ts';
import type { BackupTask } from './backup-thread.ts';

/** Only the inbox's own thread may start a thread. */
export function backups(access: Access): Pick<Transfer, 'backup'> {
  return { backup: (file) => backup(access.database(), file) };
}

/**
 * A thread copies the file, unless no other connection may open it. The copy has a temporary name until it is
 * complete.
 *
 * @returns its size in bytes
 */
async function backup(database: SqliteDatabase, path: string): Promise<number> {
  const why = whyNoPath(path);
  if (why !== null) throw new ConfigurationError('INVALID_OPTION', `A backup needs the path of a new file. ${why}`);
  const target = resolve(path);
  refuseExisting(target);
  const copy = `${target}.${randomBytes(6).toString('hex')}.part`;
  try {
    const tables = tablesOf(database);
    const isAlone = whyNoSecondReader(database) !== null;
    await (await open(copy, 'wx', OWNER_ONLY)).close();
    if (isAlone) database.prepare('VACUUM INTO ?').run(copy);
    const source = fileOf(database);
    await run({ source: isAlone ? null : source, copy, tables });
    // Another library may have changed the pages that were read.
    if (!isAlone && isInAnotherLibrary(source)) throw new Error(IN_ANOTHER_LIBRARY);
    await sync(copy, 'r+');
    refuseExisting(target);
    await rename(copy, target);
    // Windows cannot sync a folder.
    if (platform() !== 'win32') await sync(dirname(target), 'r');
    return statSync(target).size;
  } catch (failure) {
    await rm(copy, { force: true });
    await rm(`${copy}-journal`, { force: true });
    if (failure instanceof ConfigurationError) throw failure;
    throw new InboxUnavailableError('FAILED', `The backup failed: ${messageOf(failure)}`, { cause: failure });
  }
}

function refuseExisting(target: string): void {
  // `lstat` also finds a link to a missing file.
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) {
    throw new ConfigurationError('INVALID_OPTION', `${target} already exists. Pass a new path.`);
  }
  const folder = dirname(target);
  if (!existsSync(folder)) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      `The folder ${folder} does not exist. Create the folder, or pass a different path.`,
    );
  }
}

/** An application's own table may be called `hookbox_my table`. */
function tablesOf(database: SqliteDatabase): readonly string[] {
  const rows = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const present = new Set(rows.map((row) => (row as { name: string }).name));
  return TABLES.filter((table) => present.has(table));
}

function run(task: BackupTask): Promise<void> {
  const worker = startWorker('backup-thread', task);
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`its thread ended with exit code ${code}`));
    });
  });
}

/** From here on, the copy survives a power cut. */
async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
