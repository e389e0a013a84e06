import type { Hono } from 'hono';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ConfigurationError } from '../../errors.ts';
import { parseInstant } from '../../events/instant.ts';
import { clearTimeout, setTimeout } from '../../host/real-timers.ts';
import type { By } from '../../inbox/operator/acts.ts';
import type { PruneCriteria } from '../../inbox/rules/pruning.ts';
import { prunableStates } from '../../inbox/event.ts';
import { backup, copyInPostgres } from '../../ops/backup.ts';
import { eraseEntity } from '../../ops/erase.ts';
import { linesOf } from '../../ops/import-lines.ts';
import { importEvents } from '../../ops/import.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { pruneEvents } from '../../ops/prune.ts';
import { bytes } from '../../ops/words/format.ts';
import { byOf, fieldOf, postedForm, valuesOf } from '../safety/posted-form.ts';
import { type AskedAgain, maintenanceScreen, type MaintenancePreview } from '../screens/maintenance-screen.tsx';
import type { PageContext, PageEnv, Shell } from '../shell.tsx';
import { attachment, masked, stamp } from './download-routes.ts';
import { LOGS, withFlash } from './flash.ts';

const DAY_MS = 86_400_000;
const MAX_DAYS = 36_500;
const MAX_FORM_BYTES = 256 * 1024;
const MAX_IMPORT_BYTES = 64 * 1024 * 1024;
/** what a form has around its file */
const AROUND_FILE = 64 * 1024;
/** A long prune goes on without whoever began it. */
const WAITED_MS = 5_000;

/** Prune, erase and import. What takes something away is shown first, and done when its count comes back. */
export function maintenanceRoutes(page: Hono<PageEnv>, shell: Shell): void {
  const { inbox } = shell.operated;
  const posted = postedForm(shell, MAX_FORM_BYTES);

  page.post('/maintenance/prune', posted, async (c) => {
    const form = c.get('form');
    const olderThanDays = daysOf(fieldOf(form, 'olderThanDays'));
    if (olderThanDays === null)
      return preview(c, wrong(`The number of days must be a whole number from 0 to ${MAX_DAYS}.`));
    const asked = valuesOf(form, 'states');
    const states = prunableStates.filter((state) => asked.includes(state));
    if (states.length === 0) return preview(c, wrong(`Select at least one state: ${prunableStates.join(', ')}.`));
    const types = valuesOf(form, 'types');
    const endpoint = fieldOf(form, 'endpoint');
    const previewed = fieldOf(form, 'settledBefore');
    const settledBefore = previewed === '' ? daysAgo(olderThanDays) : instantOf(previewed);
    if (settledBefore === null)
      return preview(c, wrong('The form does not contain a valid time. Preview the prune again.'));
    const criteria: PruneCriteria = {
      settledBefore,
      states,
      ...(types.length > 0 && { types }),
      ...(endpoint !== '' && { endpoint }),
    };
    const by = byOf(shell, c, form);
    const { pruned: count } = await pruneEvents(inbox, criteria, by, { dryRun: true });
    const confirmed = confirmedCount(fieldOf(form, 'confirm'));
    const isTyped = confirmedCount(fieldOf(form, 'typed').replaceAll(/[,\s]/g, '')) === confirmed;
    if (confirmed === null || !isTyped || count > confirmed) {
      const again = askedAgain(
        form,
        count,
        isTyped ? 'More events match now than in the preview.' : 'The number that you typed is wrong.',
      );
      return preview(c, { act: 'prune', olderThanDays, settledBefore, states, types, endpoint, count, ...again });
    }
    const pruned = await startedPrune(criteria, by);
    const base = shell.baseOf(c);
    const said =
      pruned === null
        ? withFlash(`${base}/audit`, 'pruning')
        : withFlash(`${base}/maintenance`, 'events-pruned', pruned);
    return c.redirect(said, 303);
  });

  page.post('/maintenance/erase', posted, async (c) => {
    const form = c.get('form');
    const entity = fieldOf(form, 'entity');
    if (entity === '') return preview(c, wrong('Enter what to erase, such as the id of an order.'));
    const by = byOf(shell, c, form);
    const report = await eraseEntity(inbox, entity, by, { dryRun: true });
    const confirmed = confirmedCount(fieldOf(form, 'confirm'));
    const isTyped = fieldOf(form, 'typed') === entity;
    if (confirmed === null || !isTyped || report.erased > confirmed) {
      const again = askedAgain(
        form,
        report.erased,
        isTyped ? 'More events match now than in the preview.' : 'The name that you typed does not match.',
      );
      return preview(c, { act: 'erase', entity, report, ...again });
    }
    const { erased, inProcessing, logEmptied } = await eraseEntity(inbox, entity, by);
    return c.redirect(
      withFlash(`${shell.baseOf(c)}/maintenance`, 'erased', erased, inProcessing, LOGS.indexOf(logEmptied)),
      303,
    );
  });

  page.post('/maintenance/import', postedForm(shell, MAX_IMPORT_BYTES + AROUND_FILE), async (c) => {
    const form = c.get('form');
    const file = form.get('file');
    if (!(file instanceof File) || file.size === 0) return preview(c, wrong('Select an export file.'));
    try {
      const { imported, known, different } = await importEvents(inbox, linesOf(file.stream()), byOf(shell, c, form), {
        trusted: fieldOf(form, 'trusted') === 'yes',
        ...(shell.operated.entity !== undefined && { entity: shell.operated.entity }),
      });
      return c.redirect(withFlash(`${shell.baseOf(c)}/maintenance`, 'imported', imported, known, different), 303);
    } catch (failure) {
      // Names the line that is none, and never what stands in it.
      if (failure instanceof ConfigurationError) return preview(c, wrong(failure.message));
      throw failure;
    }
  });

  async function preview(c: PageContext, shown: MaintenancePreview): Promise<Response> {
    return shell.show(c, await maintenanceScreen(shell.visitOf(c), shown));
  }

  /** Resolves with how many were pruned, or with `null` when it goes on for longer than anybody should wait. */
  async function startedPrune(criteria: PruneCriteria, by: By): Promise<number | null> {
    const pruning = pruneEvents(inbox, criteria, by);
    // What it came to stands in the audit; when nobody waits any more there is nobody to tell of a failure either.
    pruning.catch(() => {});
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), WAITED_MS);
    });
    try {
      const report = await Promise.race([pruning, late]);
      return report?.pruned ?? null;
    } finally {
      clearTimeout(timer);
    }
  }
}

function wrong(message: string): MaintenancePreview {
  return { act: 'problem', message };
}

function daysOf(text: string): number | null {
  const days = Number(text);
  return /^\d+$/.test(text) && days <= MAX_DAYS ? days : null;
}

function daysAgo(days: number): Date {
  return new Date(Date.now() - days * DAY_MS);
}

/** As a preview has written it. */
function instantOf(text: string): Date | null {
  const read = parseInstant(text);
  return read === null ? null : new Date(read.ms);
}

/** Of a form that was sent to confirm something, and did not. */
function askedAgain(form: FormData, count: number, why: string): { readonly again?: AskedAgain } {
  if (!form.has('confirm') || count === 0) return {};
  return { again: { message: `${why} Nothing was done.`, reason: fieldOf(form, 'reason') } };
}

function confirmedCount(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

const MAX_BACKUP_BYTES = 64 * 1024;
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

  page.post('/maintenance/backup', postedForm(shell, MAX_BACKUP_BYTES), async (c) => {
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
