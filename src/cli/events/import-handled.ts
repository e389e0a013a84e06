import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { ConfigurationError, messageOf } from '../../errors.ts';
import { importHandled } from '../../ops/index.ts';
import { linesOf } from '../../ops/import-lines.ts';
import { number, plural } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { CommandError, EXIT, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { underWay } from '../shared/interruptible.ts';
import { printJson, tell } from '../shared/output.ts';
import { progressBar } from '../shared/progress-bar.ts';
import { byOf } from './by.ts';
import type { ByOptions, InboxOptions } from './event-options.ts';
import { newOrExistingInbox, refuseMissing } from './import-source.ts';

/** The arguments of `events import --handled`. */
export interface ImportHandledCommandOptions extends InboxOptions, ByOptions {
  readonly endpoint?: string;
  readonly dryRun?: boolean;
}

/** Records the ids of a file as processed, and resolves with how to exit. */
export async function importHandledFrom(path: string, options: ImportHandledCommandOptions): Promise<ExitCode> {
  const { dryRun = false, json = false, endpoint } = options;
  if (path !== '-') refuseMissing(path);
  const signal = interruption();
  await using inbox = dryRun ? await existingInbox(options) : await newOrExistingInbox(options);

  const source = path === '-' ? process.stdin : createReadStream(path);
  // Standard input may never end.
  signal.addEventListener('abort', () => source.destroy());
  let counts = { imported: 0, known: 0 };
  const progress = progressBar();
  const report = await underWay(signal, progress, () =>
    importHandled(inbox, idsOf(linesOf(source)), byOf(options), {
      ...(endpoint !== undefined && { endpoint }),
      dryRun,
      from: path === '-' ? 'standard input' : basename(path),
      signal,
      onProgress(now) {
        counts = now;
        progress.show(null, `${plural(now.imported + now.known, 'id')} read`);
      },
    }),
  ).catch((failure: unknown) => {
    if (signal.aborted) return { ...counts, notProcessed: [], audit: null };
    // The file is wrong, and not the arguments.
    throw failure instanceof ConfigurationError ? new CommandError(`${oneLine(path)}: ${messageOf(failure)}`) : failure;
  });
  source.destroy();

  const { imported, known, notProcessed } = report;
  if (json) printJson(report);
  tell(
    `${plural(imported, 'id')} ${dryRun ? 'would be recorded' : 'recorded'} as processed; ` +
      `${number(known)} already recorded`,
  );
  for (const { id, state } of notProcessed) tell(`not changed: ${oneLine(id)} is stored and ${state}`);
  if (signal.aborted) {
    tell('Stopped. To continue, run the command again. It leaves ids that are already recorded unchanged.');
    return EXIT.interrupted;
  }
  if (notProcessed.length > 0) tell(NOT_PROCESSED);
  return notProcessed.length > 0 ? EXIT.partial : EXIT.ok;
}

const NOT_PROCESSED =
  'If the old code handled these events, discard the pending and dead ones: npx hookbox events discard <id>';

/**
 * The ids of a text, one a line.
 *
 * @throws ConfigurationError for a line with more than an id, as in a CSV file, and for a text without ids
 */
async function* idsOf(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let at = 0;
  let found = 0;
  for await (const line of lines) {
    at += 1;
    const id = line.trim();
    if (id === '') continue;
    if (/[\s",;{}]/.test(id) || id.length > 255) {
      throw new ConfigurationError('INVALID_OPTION', `Line ${at} is not a single event id. ${SAFE_TO_REPEAT}`);
    }
    found += 1;
    yield id;
  }
  if (found === 0) throw new ConfigurationError('INVALID_OPTION', 'The file contains no ids.');
}

const SAFE_TO_REPEAT = 'Write one id per line, and import the file again. Ids that are already recorded do not change.';
