import { createReadStream, existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { ConfigurationError, messageOf } from '../../errors.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { linesOf } from '../../ops/import-lines.ts';
import { importEvents, importHandled, type ImportCounts, type ImportReport } from '../../ops/index.ts';
import { number, plural } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { requireFile } from '../shared/files.ts';
import { existingInbox, openInbox } from '../shared/inbox.ts';
import { interruption, underWay, type Progress } from '../shared/interruption.ts';
import { isInPostgres, present, shownInbox, type DbOptions } from '../shared/options.ts';
import { CommandError, EXIT, printJson, tell, usageError, type ExitCode } from '../shared/output.ts';
import { byOf, type ByOptions, type InboxOptions } from './options.ts';

interface ImportOptions extends InboxOptions, ByOptions {
  readonly dryRun?: boolean;
  readonly trusted?: boolean;
  readonly handled?: boolean;
  readonly endpoint?: string;
}

interface Importing {
  readonly inbox: Inbox;
  readonly path: string;
  readonly source: Readable;
  readonly options: ImportOptions;
  readonly signal: AbortSignal;
}

export async function importFrom(path: string, options: ImportOptions): Promise<ExitCode> {
  const { dryRun = false, trusted = false, handled = false, endpoint } = options;
  if (handled && trusted) throw usageError('--trusted works only for an export. Remove --trusted or --handled.');
  if (!handled && endpoint !== undefined)
    throw usageError('--endpoint works only with --handled. An export already names its endpoints.');
  if (path !== '-') {
    requireFile(path);
    if (!existsSync(path)) throw new CommandError(`The file ${oneLine(path)} does not exist.`, EXIT.notFound);
  }
  const signal = interruption();
  await using inbox = dryRun ? await existingInbox(options) : await newOrExistingInbox(options);

  const source = path === '-' ? process.stdin : createReadStream(path);
  // Standard input may never end.
  signal.addEventListener('abort', () => source.destroy());
  const importing: Importing = { inbox, path, source, options, signal };
  return await (handled ? importIds(importing) : importExport(importing));
}

async function newOrExistingInbox(options: DbOptions): Promise<Inbox> {
  const isNew = !(await isThere(options));
  const inbox = await openInbox(options);
  if (isNew) tell(`note: ${shownInbox(options)} is a new inbox.`);
  return inbox;
}

async function isThere(options: DbOptions): Promise<boolean> {
  if (!isInPostgres(options)) return existsSync(options.db);
  const { isOnPostgres } = await import('../shared/postgres-inbox.ts');
  return isOnPostgres(options);
}

async function importExport(importing: Importing): Promise<ExitCode> {
  const { inbox, path, source, options, signal } = importing;
  const { dryRun = false, trusted = false } = options;
  const size = path === '-' ? null : statSync(path).size;
  let read = 0;
  const lines = linesOf(source, (bytes) => (read += bytes));
  let counts: ImportCounts & Pick<ImportReport, 'paused'> = { imported: 0, known: 0, different: 0 };
  const work = (progress: Progress): Promise<ImportReport> =>
    importEvents(inbox, lines, byOf(options), {
      dryRun,
      trusted,
      from: nameOf(path),
      signal,
      onProgress(now) {
        counts = now;
        const share = size === null ? null : read / size;
        progress.show(share, `${plural(now.imported + now.known + now.different, 'event')} read`);
      },
    });
  const report = await reported(importing, work, () => counts);

  const { imported, known, different, paused = [] } = report;
  tell(
    `${plural(imported, 'event')} ${dryRun ? 'would be imported' : 'imported'}, ` +
      `${number(known)} already here, ${number(different)} already here with a different body`,
  );
  for (const { endpoint, type } of paused)
    tell(`${oneLine(type)} at ${oneLine(endpoint)} is paused, because it was paused in the export.`);
  if (imported > 0 && !dryRun && !trusted) {
    tell(
      'The imported events are stored as not verified. If this is an unchanged export of your own, you can import it ' +
        'into a new inbox with --trusted, which keeps everything that the export records.',
    );
  }
  if (signal.aborted) {
    tell('Stopped. To continue, import the same export again. Events that are already in this inbox do not change.');
    return EXIT.interrupted;
  }
  return different > 0 ? EXIT.partial : EXIT.ok;
}

async function importIds(importing: Importing): Promise<ExitCode> {
  const { inbox, path, source, options, signal } = importing;
  const { dryRun = false, endpoint } = options;
  let counts = { imported: 0, known: 0 };
  const work = (progress: Progress): ReturnType<typeof importHandled> =>
    importHandled(inbox, idsOf(linesOf(source)), byOf(options), {
      ...present({ endpoint }),
      dryRun,
      from: nameOf(path),
      signal,
      onProgress(now) {
        counts = now;
        progress.show(null, `${plural(now.imported + now.known, 'id')} read`);
      },
    });
  const report = await reported(importing, work, () => ({ ...counts, notProcessed: [], audit: null }));

  const { imported, known, notProcessed } = report;
  tell(
    `${plural(imported, 'id')} ${dryRun ? 'would be recorded' : 'recorded'} as processed; ` +
      `${number(known)} already recorded`,
  );
  for (const { id, state } of notProcessed) tell(`not changed: ${oneLine(id)} is stored and ${state}`);
  if (signal.aborted) {
    tell('Stopped. To continue, run the command again. It leaves ids that are already recorded unchanged.');
    return EXIT.interrupted;
  }
  if (notProcessed.length === 0) return EXIT.ok;
  tell('If the old code handled these events, discard the pending and dead ones: npx hookbox events discard <id>');
  return EXIT.partial;
}

function nameOf(path: string): string {
  return path === '-' ? 'standard input' : basename(path);
}

/** After Ctrl-C, the report of the work so far. */
async function reported<Report, Partly>(
  { path, source, options, signal }: Importing,
  work: (progress: Progress) => Promise<Report>,
  soFar: () => Partly,
): Promise<Report | Partly> {
  const report = await underWay(signal, work).catch((failure: unknown) => {
    if (signal.aborted) return soFar();
    // The file is wrong, not the arguments.
    throw failure instanceof ConfigurationError ? new CommandError(`${oneLine(path)}: ${messageOf(failure)}`) : failure;
  });
  source.destroy();
  if (options.json === true) printJson(report);
  return report;
}

/** Throws for a line with more than one id, as in a CSV file. */
async function* idsOf(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let at = 0;
  let found = 0;
  for await (const line of lines) {
    at += 1;
    const id = line.trim();
    if (id === '') continue;
    if (/[\s",;{}]/.test(id) || id.length > 255) {
      throw new ConfigurationError(
        'INVALID_OPTION',
        `Line ${at} is not a single event id. Write one id per line, and import the file again. Ids that are already ` +
          'recorded do not change.',
      );
    }
    found += 1;
    yield id;
  }
  if (found === 0) throw new ConfigurationError('INVALID_OPTION', 'The file contains no ids.');
}
