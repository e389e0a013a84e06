import { delay } from '../../../host/real-timers.ts';
import type { ErasingEngine } from '../../operator/erasing.ts';
import { withoutWaiting } from '../connection.ts';
import { type SqliteDatabase, isBusy } from '../opening/database.ts';
import type { Access } from './access.ts';

export function erasingEngine(access: Access): ErasingEngine {
  return { notesInOrder: true, emptyLog: () => emptyLog(access) };
}

/** SQLite overwrites the bytes that `work` deletes. */
async function securely<T>(database: SqliteDatabase, work: () => T | Promise<T>): Promise<T> {
  const before = Number(database.pragma('secure_delete', { simple: true }));
  database.pragma('secure_delete = ON');
  try {
    return await work();
  } finally {
    database.pragma(`secure_delete = ${before === 2 ? 'FAST' : before}`);
  }
}

export function secureAccess(access: Access): Access {
  return {
    ...access,
    write: (work) =>
      access.write((statements, ...given) => securely(statements.database, () => work(statements, ...given))),
  };
}

const TRIES = 10;
const BETWEEN_TRIES_MS = 50;

/** The log has older versions of pages. `false` if others used the log all the time. */
async function emptyLog(access: Access): Promise<boolean> {
  for (let tried = 1; ; tried += 1) {
    if (await access.alone(checkpointed)) return true;
    if (tried === TRIES) return false;
    await delay(BETWEEN_TRIES_MS);
  }
}

function checkpointed(database: SqliteDatabase): boolean {
  try {
    const busy = withoutWaiting(database, () => database.pragma('wal_checkpoint(TRUNCATE)', { simple: true }));
    return Number(busy) === 0; // the application's connection may return a bigint
  } catch (failure) {
    // The application is in its own transaction, or reads rows one by one.
    if (isBusy(failure) || failure instanceof TypeError) return false;
    throw failure;
  }
}
