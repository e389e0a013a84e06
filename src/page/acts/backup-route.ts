import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Hono } from 'hono';
import { operationsOf } from '../../ops/operations-of.ts';
import { backup } from '../../ops/backup.ts';
import { copyInPostgres } from '../../ops/words/shell-commands.ts';
import { bytes } from '../../ops/words/format.ts';
import { byOf, postedForm } from '../safety/posted-form.ts';
import type { PageEnv, Shell } from '../shell.tsx';
import { attachment, masked, stamp } from './attachment.ts';

const MAX_FORM_BYTES = 64 * 1024;
const PREFIX = 'hookbox-backup-';
/** Nobody downloads for so long: the process that made it has ended. */
const LEFT_OVER_MS = 86_400_000;

/**
 * A copy of all. It lies on the disk for as long as it is downloaded, and the inbox may need that disk: so there is one at a
 * time, and none that does not fit.
 *
 * @param parent - the folder that copies lie in
 */
export function backupRoute(page: Hono<PageEnv>, shell: Shell, parent: string): void {
  const { inbox } = shell.operated;
  let isUnderWay = false;

  page.post('/maintenance/backup', postedForm(shell, MAX_FORM_BYTES), async (c) => {
    if (inbox.file === undefined) {
      return shell.problem(c, 409, 'Not available here', copyInPostgres(shell.visitOf(c).named));
    }
    if (shell.mask.masks) return masked(c, shell);
    if (isUnderWay) {
      const sentence = 'Another backup is running. Try again when it ends. Nothing was done.';
      return shell.problem(c, 409, 'Backup already running', sentence);
    }
    isUnderWay = true;
    let folder: string | null = null;
    const end = async (): Promise<void> => {
      if (folder !== null) await removed(folder);
      isUnderWay = false;
    };
    try {
      await removeLeftOver(parent);
      const [needed, free] = await Promise.all([operationsOf(inbox).bytes(), freeBytes(parent)]);
      if (needed > free) {
        await end();
        const sentence =
          `A backup needs up to ${bytes(needed)} of temporary space, but only ${bytes(free)} is free on this server. ` +
          'Run hookbox events backup on the server, with a path on another disk. Nothing was done.';
        return await shell.problem(c, 507, 'Not enough disk space', sentence);
      }
      folder = await mkdtemp(join(parent, PREFIX));
      const copied = await backup(inbox, join(folder, 'inbox.db'), byOf(shell, c, c.get('form')));
      // Read or not: it closes when the client has it all, and when the client has gone.
      const copy = createReadStream(copied.file).once('close', () => void end());
      // Node's type of a web stream is not the one that Response asks for, but the stream is.
      return c.body(Readable.toWeb(copy) as ReadableStream, 200, {
        'Content-Type': 'application/vnd.sqlite3',
        'Content-Length': String(copied.bytes),
        'Content-Disposition': attachment(`hookbox-backup-${stamp(shell.visitOf(c).now)}.db`),
      });
    } catch (failure) {
      await end();
      throw failure;
    }
  });
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** What a process that was killed has left. */
async function removeLeftOver(parent: string): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(PREFIX));
  for (const folder of names.map((name) => join(parent, name))) {
    const made = await stat(folder).catch(() => null);
    if (made?.isDirectory() === true && made.mtimeMs < Date.now() - LEFT_OVER_MS) await removed(folder);
  }
}

/** In a shared folder others have theirs, which stay. */
async function removed(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(() => {});
}
