import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ConfigurationError } from '../../errors.ts';
import { parseInstant } from '../../events/instant.ts';
import { delay } from '../../host/real-timers.ts';
import type { By } from '../../inbox/operator/acts.ts';
import { prunableStates } from '../../inbox/event.ts';
import type { PruneCriteria } from '../../inbox/rules/pruning.ts';
import { backup, copyInPostgres } from '../../ops/backup.ts';
import { eraseEntity } from '../../ops/erase.ts';
import { linesOf } from '../../ops/import-lines.ts';
import { importEvents } from '../../ops/import.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { pruneEvents } from '../../ops/prune.ts';
import { bytes } from '../../ops/words/format.ts';
import { byOf, fieldOf, postedForm, valuesOf } from '../safety/posted-form.ts';
import { maintenanceScreen, type Correction, type MaintenancePreview } from '../screens/maintenance-screen.tsx';
import type { PageContext } from '../frame.tsx';
import type { Shell } from '../shell.tsx';
import { attachment, masked, stamp } from './download-routes.ts';
import { LOGS } from './flash.ts';

const DAY_MS = 86_400_000;
const MAX_DAYS = 36_500;
const MAX_FORM_BYTES = 256 * 1024;
const MAX_IMPORT_BYTES = 64 * 1024 * 1024;
const AROUND_FILE = 64 * 1024;
/** A prune that takes longer continues without its operator. */
const WAITED_MS = 5_000;

export function maintenanceRoutes(shell: Shell): void {
  const { page, operated } = shell;
  const { inbox } = operated;
  const posted = postedForm(shell, MAX_FORM_BYTES);

  page.post('/maintenance/prune', posted, async (c) => {
    const form = c.get('form');
    const days = fieldOf(form, 'olderThanDays');
    const olderThanDays = Number(days);
    if (!/^\d+$/.test(days) || olderThanDays > MAX_DAYS)
      return problem(c, `The number of days must be a whole number from 0 to ${MAX_DAYS}.`);
    const given = valuesOf(form, 'states');
    const states = prunableStates.filter((state) => given.includes(state));
    if (states.length === 0) return problem(c, `Select at least one state: ${prunableStates.join(', ')}.`);
    const types = valuesOf(form, 'types');
    const endpoint = fieldOf(form, 'endpoint');
    const previewed = fieldOf(form, 'settledBefore');
    const settledMs = previewed === '' ? Date.now() - olderThanDays * DAY_MS : parseInstant(previewed)?.ms;
    if (settledMs === undefined) return problem(c, 'The form does not contain a valid time. Preview the prune again.');
    const settledBefore = new Date(settledMs);
    const criteria: PruneCriteria = {
      settledBefore,
      states,
      ...(types.length > 0 && { types }),
      ...(endpoint !== '' && { endpoint }),
    };
    const by = byOf(shell, c);
    const { pruned: count } = await pruneEvents(inbox, criteria, by, { dryRun: true });
    const isTyped = countIn(fieldOf(form, 'typed').replaceAll(/[,\s]/g, '')) === countIn(fieldOf(form, 'confirm'));
    if (!isConfirmed(form, isTyped, count)) {
      const again = correctionOf(form, count, isTyped ? MORE_NOW : 'The number that you typed is wrong.');
      return preview(c, { act: 'prune', olderThanDays, settledBefore, states, types, endpoint, count, ...again });
    }
    const pruned = await startedPrune(criteria, by);
    if (pruned === null) return shell.goTo(c, '/audit', 'pruning');
    return shell.goTo(c, '/maintenance', 'events-pruned', pruned);
  });

  page.post('/maintenance/erase', posted, async (c) => {
    const form = c.get('form');
    const entity = fieldOf(form, 'entity');
    if (entity === '') return problem(c, 'Enter what to erase, such as the id of an order.');
    const by = byOf(shell, c);
    const report = await eraseEntity(inbox, entity, by, { dryRun: true });
    const isTyped = fieldOf(form, 'typed') === entity;
    if (!isConfirmed(form, isTyped, report.erased)) {
      const again = correctionOf(form, report.erased, isTyped ? MORE_NOW : 'The name that you typed does not match.');
      return preview(c, { act: 'erase', entity, report, ...again });
    }
    const { erased, inProcessing, logEmptied } = await eraseEntity(inbox, entity, by);
    return shell.goTo(c, '/maintenance', 'erased', erased, inProcessing, LOGS.indexOf(logEmptied));
  });

  page.post('/maintenance/import', postedForm(shell, MAX_IMPORT_BYTES + AROUND_FILE), async (c) => {
    const form = c.get('form');
    const file = form.get('file');
    if (!(file instanceof File) || file.size === 0) return problem(c, 'Select an export file.');
    try {
      const { imported, known, different } = await importEvents(inbox, linesOf(file.stream()), byOf(shell, c), {
        trusted: fieldOf(form, 'trusted') === 'yes',
        ...(shell.operated.entity !== undefined && { entity: shell.operated.entity }),
      });
      return shell.goTo(c, '/maintenance', 'imported', imported, known, different);
    } catch (failure) {
      // The message names the wrong line, and never quotes it.
      if (failure instanceof ConfigurationError) return problem(c, failure.message);
      throw failure;
    }
  });

  async function preview(c: PageContext, shown: MaintenancePreview): Promise<Response> {
    return shell.show(c, await maintenanceScreen(shell.visitOf(c), shown));
  }

  function problem(c: PageContext, message: string): Promise<Response> {
    return preview(c, { act: 'problem', message });
  }

  /** `null` if that takes too long; the audit will show the result. */
  async function startedPrune(criteria: PruneCriteria, by: By): Promise<number | null> {
    const pruning = pruneEvents(inbox, criteria, by);
    pruning.catch(() => {});
    const report = await Promise.race([pruning, delay(WAITED_MS, null, { ref: false })]);
    return report?.pruned ?? null;
  }
}

const MORE_NOW = 'More events match now than in the preview.';

function isConfirmed(form: FormData, isTyped: boolean, count: number): boolean {
  const confirmed = countIn(fieldOf(form, 'confirm'));
  return confirmed !== null && isTyped && count <= confirmed;
}

function correctionOf(form: FormData, count: number, why: string): { readonly again?: Correction } {
  if (!form.has('confirm') || count === 0) return {};
  return { again: { message: `${why} Nothing was done.`, reason: fieldOf(form, 'reason') } };
}

function countIn(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

const PREFIX = 'hookbox-backup-';
/** No download takes this long, so the process that made the copy has ended. */
const LEFT_OVER_MS = DAY_MS;

/** A copy needs space on a disk that the inbox may also need, so the page makes one at a time. */
export function backupRoute(shell: Shell, parent: string): void {
  const { inbox } = shell.operated;
  let isUnderWay = false;

  shell.page.post('/maintenance/backup', postedForm(shell, MAX_FORM_BYTES), async (c) => {
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
      const [needed, { bavail, bsize }] = await Promise.all([operationsOf(inbox).bytes(), statfs(parent)]);
      const free = bavail * bsize;
      if (needed > free) {
        await end();
        const sentence =
          `A backup needs up to ${bytes(needed)} of temporary space, but only ${bytes(free)} is free on this server. ` +
          'Run hookbox events backup on the server, with a path on another disk. Nothing was done.';
        return await shell.problem(c, 507, 'Not enough disk space', sentence);
      }
      folder = await mkdtemp(join(parent, PREFIX));
      const copied = await backup(inbox, join(folder, 'inbox.db'), byOf(shell, c));
      // The stream closes when the client has received everything, and when the client has gone.
      const copy = createReadStream(copied.file).once('close', () => void end());
      // The types of Node and of Response name the same stream differently.
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

async function removeLeftOver(parent: string): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(PREFIX));
  for (const folder of names.map((name) => join(parent, name))) {
    const made = await stat(folder).catch(() => null);
    if (made?.isDirectory() === true && made.mtimeMs < Date.now() - LEFT_OVER_MS) await removed(folder);
  }
}

/** Folders of other users stay. */
async function removed(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(() => {});
}
