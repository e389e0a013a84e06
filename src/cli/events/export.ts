import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { isError, messageOf } from '../../errors.ts';
import { whyNoPath, OWNER_ONLY } from '../../host/files.ts';
import { exportEvents, exportReadable, type ReadableFormat, backup } from '../../ops/index.ts';
import { plural, bytes } from '../../ops/words/format.ts';
import { SPREADSHEET_MARK } from '../../ops/export.ts';
import { copyInPostgres } from '../../ops/backup.ts';
import { oneLine, printableJson } from '../../printable.ts';
import { requireFile, refuseUrl } from '../shared/files.ts';
import { existingInbox } from '../shared/inbox.ts';
import { interruption, underWay, stopping } from '../shared/interruption.ts';
import { isInPostgres, shownInbox, type DbOptions, namedInbox } from '../shared/options.ts';
import { CommandError, EXIT, usageError, type ExitCode, tell, printJson } from '../shared/output.ts';
import { byOf, type ByOptions, type FilterOptions, type InboxOptions, eventFilterOf } from './options.ts';

interface ExportOptions extends DbOptions, FilterOptions, ByOptions {
  readonly out?: string;
  readonly force?: boolean;
  readonly format: 'exact' | ReadableFormat;
}

export async function exportTo(options: ExportOptions): Promise<ExitCode> {
  const code = await exported(options);
  // The last process that closes a file removes its log.
  if (code === EXIT.ok && !isInPostgres(options) && existsSync(`${options.db}-wal`)) {
    tell(
      `note: another process has ${shownInbox(options)} open. This export does not include events that the other process stores from now on.`,
    );
  }
  return code;
}

async function exported(options: ExportOptions): Promise<ExitCode> {
  const { out, force = false, format } = options;
  const filter = eventFilterOf(options);
  if (out !== undefined) refuseExisting(out, force);
  const signal = interruption();
  await using inbox = await existingInbox(options);

  let events = 0;
  await underWay(signal, (progress) => {
    const onProgress = (count: number): void => {
      events = count;
      progress.show(null, `${plural(count, 'event')} exported`);
    };
    const by = byOf(options);
    const lines =
      format === 'exact'
        ? exportEvents(inbox, by, filter, { signal, onProgress })
        : exportReadable(inbox, format, by, filter, { signal, onProgress });
    const end = format === 'csv' ? '\r\n' : '\n';
    return out === undefined ? print(lines, end, signal) : save(lines, end, out, signal);
  });
  const name = out === undefined ? '' : oneLine(out);
  if (!signal.aborted) {
    tell(`${plural(events, 'event')} exported${out === undefined ? '' : ` to ${name}`}`);
    return EXIT.ok;
  }
  if (out === undefined) tell('Stopped. The output is not complete.');
  else tell(`Stopped. ${name} ${existsSync(out) ? 'did not change' : 'was not created'}.`);
  return EXIT.interrupted;
}

async function print(lines: AsyncIterable<string>, end: string, signal: AbortSignal): Promise<void> {
  for await (const line of lines) {
    const mark = line.startsWith(SPREADSHEET_MARK) ? SPREADSHEET_MARK : '';
    const isRoom = process.stdout.write(`${mark}${printableJson(line.slice(mark.length))}${end}`);
    if (signal.aborted) return;
    // A closed reader never drains.
    if (!isRoom) await once(process.stdout, 'drain', { signal }).catch(() => {});
  }
}

/** A temporary name, so that an incomplete export does not pass for a complete one. */
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
    const isOfFile = isError(failure) && 'syscall' in failure;
    throw isOfFile ? new CommandError(`hookbox cannot write ${oneLine(out)}: ${messageOf(failure)}`) : failure;
  } finally {
    await file?.close();
    await rm(unfinished, { force: true });
  }
}

function refuseExisting(out: string, force: boolean): void {
  requireFile(out);
  const why = whyNoPath(out);
  if (why !== null) throw usageError(`--out must be the path of a file. ${why}`);
  // The export would replace a device or a pipe.
  if (statSync(out, { throwIfNoEntry: false })?.isFile() === false)
    throw usageError(`${oneLine(out)} is not a regular file. Remove --out and redirect standard output to that path.`);
  if (!force && existsSync(out))
    throw new CommandError(
      `${oneLine(out)} already exists. Use a different --out, or add --force to replace the file.`,
    );
}

export async function backUp(file: string, options: InboxOptions & ByOptions): Promise<ExitCode> {
  refuseUrl(file);
  if (isInPostgres(options)) throw usageError(copyInPostgres(namedInbox(options), file));
  const signal = interruption();
  signal.addEventListener('abort', () => tell(stopping('Finishing the backup')));
  await using inbox = await existingInbox(options);
  tell(`Copying ${shownInbox(options)} to ${oneLine(file)}. The inbox can stay in use.`);
  const report = await backup(inbox, file, byOf(options));
  if (options.json === true) printJson(report);
  tell(`Wrote ${bytes(report.bytes)} to ${oneLine(file)}.`);
  return signal.aborted ? EXIT.interrupted : EXIT.ok;
}
