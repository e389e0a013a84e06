import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { platform } from 'node:os';
import { dirname, resolve } from 'node:path';
import { ConfigurationError, InboxUnavailableError, messageOf } from '../../../../errors.ts';
import { fileOf, type SqliteDatabase } from '../../opening/database.ts';
import { OWNER_ONLY } from '../../../../host/owner-only.ts';
import type { Transfer } from '../../../operator/transfer.ts';
import type { Access } from '../access.ts';
import type { BackupTask } from './backup-worker.ts';

/** Copies of the live file. */
export function backups(access: Access): Pick<Transfer, 'bytes' | 'backup'> {
  return {
    bytes: async () => bytesOf(access.database()),
    backup: (file) => backup(access.database(), file),
  };
}

/**
 * Copies the file of a connection into a new one, by another thread with a connection of its own. Until the copy is
 * complete, checked and on the disk it has another name beside the one it gets.
 *
 * @returns its size in bytes
 */
async function backup(database: SqliteDatabase, path: string): Promise<number> {
  const target = resolve(path);
  refuseExisting(target);
  const copy = `${target}.${randomBytes(6).toString('hex')}.part`;
  try {
    const source = fileOf(database);
    await (await open(copy, 'wx', OWNER_ONLY)).close();
    await run({ source, copy });
    await sync(copy, 'r+');
    refuseExisting(target);
    await rename(copy, target);
    // Windows does not let anybody sync a folder.
    if (platform() !== 'win32') await sync(dirname(target), 'r');
    return statSync(target).size;
  } catch (failure) {
    await rm(copy, { force: true });
    await rm(`${copy}-journal`, { force: true });
    if (failure instanceof ConfigurationError) throw failure;
    throw new InboxUnavailableError('FAILED', `The backup could not be made: ${messageOf(failure)}`, {
      cause: failure,
    });
  }
}

/** All pages of the database, those in the write-ahead log included. */
function bytesOf(database: SqliteDatabase): number {
  const pragma = (name: string): number => Number(database.pragma(name, { simple: true }));
  return pragma('page_count') * pragma('page_size');
}

function refuseExisting(target: string): void {
  // A link that leads nowhere is something, too.
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) {
    throw new ConfigurationError('INVALID_OPTION', `${target} exists already. Give a path that does not.`);
  }
  const folder = dirname(target);
  if (!existsSync(folder)) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      `The folder ${folder} does not exist. Create it, or give another path.`,
    );
  }
}

async function run(task: BackupTask): Promise<void> {
  // Only here: where there are no threads, as on Workers, an inbox must still be able to say why it refuses to open.
  const { Worker } = await import('node:worker_threads');
  const worker = new Worker(
    new URL(import.meta.url.endsWith('.ts') ? './backup-worker.ts' : './backup-worker.js', import.meta.url),
    { workerData: task },
  );
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`its thread ended with ${code}`));
    });
  });
}

/** Makes sure that what was written to a file, or the name in a folder, outlives a power cut. */
async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
