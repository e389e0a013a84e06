import { basename } from 'node:path';
import type { AnyInbox } from '../inbox/contract.ts';
import type { By } from '../inbox/operator/acts.ts';
import { operationsOf } from './operations-of.ts';

export interface BackupReport {
  readonly file: string;
  readonly bytes: number;
  readonly audit: number;
}

/**
 * Copies a live inbox into a new file, with everything else that its database holds, complete as of one moment. Deliveries
 * go on meanwhile: the copy is made by another thread. It is checked and on the disk when this resolves, and has its name
 * only then. To restore it, stop what works on the inbox and put the copy in its place, without the `-wal` and `-shm`
 * files of the old one.
 *
 * @param file - a path that does not exist yet
 * @throws ConfigurationError for a path that exists, or whose folder does not, and for an inbox in Postgres, which `pg_dump` copies
 * @throws InboxUnavailableError when the copy could not be made; no file is left then
 * @example
 * ```ts
 * import { backup } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const { bytes } = await backup(inbox, 'shop-backup.db', { actor: 'nightly job' });
 * console.log(`${bytes} bytes`);
 * await inbox.close();
 * ```
 */
export async function backup(inbox: AnyInbox, file: string, by: By): Promise<BackupReport> {
  const operations = operationsOf(inbox);
  // Its name is enough for the audit, which is copied along: the folder says more about the machine.
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
