import { backup } from '../../ops/index.ts';
import { copyInPostgres } from '../../ops/backup.ts';
import { bytes } from '../../ops/words/format.ts';
import { isInPostgres, namedInbox, shownInbox } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, usageError, type ExitCode } from '../shared/exit.ts';
import { interruption, stopping } from '../shared/interruption.ts';
import { oneLine } from '../../printable.ts';
import { printJson, tell } from '../shared/output.ts';
import { refuseUrl } from '../shared/read-input.ts';
import { byOf } from './by.ts';
import type { ByOptions, InboxOptions } from './event-options.ts';

/** Copies the inbox into a new file, and resolves with how to exit. */
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
