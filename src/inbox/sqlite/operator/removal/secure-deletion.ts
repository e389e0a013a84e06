import { delay } from '../../../../host/real-timers.ts';
import { withoutWaiting } from '../../connection.ts';
import { isBusy, type SqliteDatabase } from '../../opening/database.ts';
import type { Access } from '../access.ts';

/** As `PRAGMA secure_delete` reads them. */
const SETTINGS = ['OFF', 'ON', 'FAST'] as const;

/** Has everything that `work` deletes overwritten with zeros; the connection's own setting is back afterwards. */
export function securely<T>(database: SqliteDatabase, work: () => T): T {
  const before = Number(database.pragma('secure_delete', { simple: true }));
  database.pragma('secure_delete = ON');
  try {
    return work();
  } finally {
    database.pragma(`secure_delete = ${SETTINGS[before] ?? 'OFF'}`);
  }
}

/** What is written through it is written `securely`. */
export function secureAccess(access: Access): Access {
  return {
    ...access,
    write: (work) =>
      access.write((statements, waitedMs) => securely(statements.database, () => work(statements, waitedMs))),
  };
}

const TRIES = 10;
const BETWEEN_TRIES_MS = 50;

/**
 * Moves everything from the write-ahead log into the file and cuts the log to nothing, so that older versions of pages are
 * gone too. `false` when somebody else was using it all the time.
 */
export async function emptyLog(access: Access): Promise<boolean> {
  for (let tried = 1; ; tried += 1) {
    if (await access.alone(checkpointed)) return true;
    if (tried === TRIES) return false;
    await delay(BETWEEN_TRIES_MS);
  }
}

function checkpointed(database: SqliteDatabase): boolean {
  try {
    const busy = withoutWaiting(database, () => database.pragma('wal_checkpoint(TRUNCATE)', { simple: true }));
    // A connection of the application's may give bigints.
    return Number(busy) === 0;
  } catch (failure) {
    // The application is in its own transaction, or reads rows one by one.
    if (isBusy(failure) || failure instanceof TypeError) return false;
    throw failure;
  }
}
