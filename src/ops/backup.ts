import { basename } from 'node:path';
import { USUAL_SCHEMA, shownDatabase } from '../host/postgres-url.ts';
import { inboxOptions, quoted, type NamedInbox } from '../host/shell-words.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { By } from '../inbox/operator/acts.ts';
import { operationsOf } from './operations-of.ts';

/** The result of {@link backup}. */
export interface BackupReport {
  readonly file: string;
  readonly bytes: number;
  /** The `seq` of the audit line. */
  readonly audit: number;
}

/**
 * Copies a live SQLite inbox, and everything else in its database, into a new file. The copy is a consistent snapshot,
 * which another thread makes. It gets its final name only after it has been checked and is on disk.
 *
 * To restore the copy, stop all processes that use the inbox, remove the `-wal` and `-shm` files, and replace the old
 * file.
 *
 * @param file - a path that does not exist yet
 * @throws ConfigurationError `INVALID_OPTION` for an existing path, a missing folder, or an inbox in Postgres (use
 * `pg_dump` there)
 * @throws InboxUnavailableError if the copy failed; no file is left behind
 * @example
 * ```ts
 * import { backup } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { bytes } = await backup(inbox, 'shop-backup.db', { actor: 'nightly job' });
 * console.log(`${bytes} bytes`);
 * ```
 */
export async function backup(inbox: AnyInbox, file: string, by: By): Promise<BackupReport> {
  const operations = operationsOf(inbox);
  // The folder would describe the machine in the audit of the copy.
  const audit = await operations.note('backup', by, { file: basename(file) }, { bytes: 0 });
  try {
    const bytes = await operations.backup(file);
    await operations.recount(audit, { bytes });
    return { file, bytes, audit };
  } catch (failure) {
    await operations.recount(audit, { bytes: 0, failed: 1 });
    throw failure;
  }
}

export function copyingCommand(act: 'export' | 'import' | 'backup', named: NamedInbox): string {
  return ['hookbox events', act, ...inboxOptions(named)].join(' ');
}

export function copyInPostgres({ db, schema = USUAL_SCHEMA }: NamedInbox = {}, file = 'hookbox.dump'): string {
  const where = db === undefined ? [] : [quoted(shownDatabase(db))];
  const command = ['pg_dump', '--format=custom', `--schema=${quoted(schema)}`, `--file=${quoted(file)}`, ...where];
  return `Back up an inbox in Postgres with pg_dump (the inbox can stay in use): ${command.join(' ')}`;
}
