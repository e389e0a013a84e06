import { createReadStream, statSync } from 'node:fs';
import { basename } from 'node:path';
import { ConfigurationError, messageOf } from '../../errors.ts';
import { importEvents, type ImportCounts, type ImportReport } from '../../ops/index.ts';
import { number, plural } from '../../ops/words/format.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { CommandError, EXIT, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { oneLine } from '../../printable.ts';
import { printJson, tell } from '../shared/output.ts';
import { progressBar } from '../shared/progress-bar.ts';
import { byOf } from './by.ts';
import { newOrExistingInbox, refuseMissing } from './import-source.ts';
import { linesOf } from '../../ops/import-lines.ts';
import type { ByOptions, InboxOptions } from './event-options.ts';
import { underWay } from '../shared/interruptible.ts';

/** What the arguments of `events import` say. */
export interface ImportCommandOptions extends InboxOptions, ByOptions {
  readonly dryRun?: boolean;
  readonly trusted?: boolean;
}

/** Takes in what an export has written, and resolves with how to exit. */
export async function importFrom(path: string, options: ImportCommandOptions): Promise<ExitCode> {
  const { dryRun = false, trusted = false, json = false } = options;
  if (path !== '-') refuseMissing(path);
  const signal = interruption();
  await using inbox = dryRun ? await existingInbox(options) : await newOrExistingInbox(options);

  const source = path === '-' ? process.stdin : createReadStream(path);
  // Standard input may never end.
  signal.addEventListener('abort', () => source.destroy());
  const size = path === '-' ? null : statSync(path).size;
  let read = 0;
  let counts: ImportCounts & Pick<ImportReport, 'paused'> = { imported: 0, known: 0, different: 0 };
  const progress = progressBar();
  const lines = linesOf(source, (bytes) => (read += bytes));
  const report = await underWay(signal, progress, () =>
    importEvents(inbox, lines, byOf(options), {
      dryRun,
      trusted,
      from: path === '-' ? 'standard input' : basename(path),
      signal,
      onProgress(now) {
        counts = now;
        progress.show(size === null ? null : read / size, `${plural(sumOf(now), 'event')} read`);
      },
    }),
  ).catch((failure: unknown) => {
    if (signal.aborted) return counts;
    // The file is wrong, and not the arguments.
    throw failure instanceof ConfigurationError ? new CommandError(`${oneLine(path)}: ${messageOf(failure)}`) : failure;
  });
  source.destroy();

  const { imported, known, different, paused = [] } = report;
  if (json) printJson(report);
  tell(
    `${plural(imported, 'event')} ${dryRun ? 'would be imported' : 'imported'}, ` +
      `${number(known)} already here, ${number(different)} already here with a different body`,
  );
  for (const { endpoint, type } of paused)
    tell(`${oneLine(type)} at ${oneLine(endpoint)} is paused, because it was paused in the export.`);
  if (imported > 0 && !dryRun && !trusted) tell(NOT_TRUSTED);
  if (signal.aborted) {
    tell('Stopped. To continue, import the same export again. Events that are already in this inbox do not change.');
    return EXIT.interrupted;
  }
  return different > 0 ? EXIT.partial : EXIT.ok;
}

const NOT_TRUSTED =
  'The imported events are stored as not verified. If this is an unchanged export of your own, you can import it ' +
  'into a new inbox with --trusted, which keeps everything that the export records.';

function sumOf({ imported, known, different }: ImportCounts): number {
  return imported + known + different;
}
