import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { isError, messageOf } from '../../errors.ts';
import { exportEvents, exportReadable, type ReadableFormat } from '../../ops/index.ts';
import { SPREADSHEET_MARK } from '../../ops/export.ts';
import { plural } from '../../ops/words/format.ts';
import { isInPostgres, shownInbox, type DbOptions } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { CommandError, EXIT, usageError, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { oneLine, printableJson } from '../../printable.ts';
import { whyNoPath, OWNER_ONLY } from '../../host/files.ts';
import { tell } from '../shared/output.ts';
import { progressBar } from '../shared/progress-bar.ts';
import { requireFile } from '../shared/read-input.ts';
import { byOf } from './by.ts';
import { eventFilterOf } from './filter-from-options.ts';
import type { ByOptions, FilterOptions } from './event-options.ts';
import { underWay } from '../shared/interruptible.ts';

/** What the arguments of `events export` say. */
export interface ExportCommandOptions extends DbOptions, FilterOptions, ByOptions {
  readonly out?: string;
  readonly force?: boolean;
  readonly format: 'exact' | ReadableFormat;
}

/** Writes events to a file or to standard output, and resolves with how to exit. */
export async function exportTo(options: ExportCommandOptions): Promise<ExitCode> {
  const code = await exported(options);
  // The last who closes a file takes its log away.
  if (code === EXIT.ok && !isInPostgres(options) && existsSync(`${options.db}-wal`)) tell(inUse(options));
  return code;
}

function inUse(options: DbOptions): string {
  return `note: another process has ${shownInbox(options)} open. This export does not include events that the other process stores from now on.`;
}

async function exported(options: ExportCommandOptions): Promise<ExitCode> {
  const { out, force = false, format } = options;
  const filter = eventFilterOf(options);
  if (out !== undefined) refuseExisting(out, force);
  const signal = interruption();
  await using inbox = await existingInbox(options);

  const progress = progressBar();
  let events = 0;
  const told = {
    signal,
    onProgress: (count: number) => {
      events = count;
      progress.show(null, `${plural(count, 'event')} exported`);
    },
  };
  const by = byOf(options);
  const lines =
    format === 'exact' ? exportEvents(inbox, by, filter, told) : exportReadable(inbox, format, by, filter, told);
  const end = format === 'csv' ? '\r\n' : '\n';
  await underWay(signal, progress, () =>
    out === undefined ? print(lines, end, signal) : save(lines, end, out, signal),
  );
  if (signal.aborted) {
    tell(`Stopped. ${out === undefined ? 'The output is not complete' : leftAt(out)}.`);
    return EXIT.interrupted;
  }
  tell(`${plural(events, 'event')} ${out === undefined ? 'exported' : `exported to ${oneLine(out)}`}`);
  return EXIT.ok;
}

function leftAt(out: string): string {
  return existsSync(out) ? `${oneLine(out)} did not change` : `${oneLine(out)} was not created`;
}

/** No faster than it is read. */
async function print(lines: AsyncIterable<string>, end: string, signal: AbortSignal): Promise<void> {
  for await (const line of lines) {
    const mark = line.startsWith(SPREADSHEET_MARK) ? SPREADSHEET_MARK : '';
    const isRoom = process.stdout.write(`${mark}${printableJson(line.slice(mark.length))}${end}`);
    if (signal.aborted) return;
    // A reader that goes away never makes room.
    if (!isRoom) await once(process.stdout, 'drain', { signal }).catch(() => {});
  }
}

/** Under a name of its own until it is complete, so that half an export is not taken for a whole one. */
async function save(lines: AsyncIterable<string>, end: string, out: string, signal: AbortSignal): Promise<void> {
  const unfinished = `${out}.${process.pid}.tmp`;
  let file: FileHandle | undefined;
  try {
    file = await open(unfinished, 'wx', OWNER_ONLY);
    for await (const line of lines) {
      if (signal.aborted) return;
      await file.write(`${line}${end}`);
    }
    if (signal.aborted) return;
    await file.sync();
    await file.close();
    file = undefined;
    await rename(unfinished, out);
  } catch (failure) {
    throw isOfFile(failure) ? new CommandError(`hookbox cannot write ${oneLine(out)}: ${messageOf(failure)}`) : failure;
  } finally {
    await file?.close();
    await rm(unfinished, { force: true });
  }
}

function isOfFile(failure: unknown): boolean {
  return isError(failure) && 'syscall' in failure;
}

function refuseExisting(out: string, force: boolean): void {
  requireFile(out);
  const why = whyNoPath(out);
  if (why !== null) throw usageError(`--out must be the path of a file. ${why}`);
  // What is written takes the place of what is there: a device or a pipe would be gone.
  if (statSync(out, { throwIfNoEntry: false })?.isFile() === false)
    throw usageError(`${oneLine(out)} is not a regular file. Remove --out and redirect standard output to that path.`);
  if (!force && existsSync(out))
    throw new CommandError(
      `${oneLine(out)} already exists. Use a different --out, or add --force to replace the file.`,
    );
}
