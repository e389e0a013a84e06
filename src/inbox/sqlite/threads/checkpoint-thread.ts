/**
 * The thread that copies the write-ahead log into the file, while the writer continues with the log.
 *
 * @module
 */
import { fdatasyncSync } from 'node:fs';
import { ownConnection } from '../connection.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { descriptorsOf } from '../opening/files-in-use.ts';
import { copyMostOfLog } from '../opening/log-limit.ts';
import { SEARCH_INDEX } from '../operator/search/search-words.ts';
import { answerRequests, file, tell } from './answer-requests.ts';

const connection = ownConnection(file, SEARCH_INDEX, { isThere: true });
let opened: SqliteDatabase | null = null;
/**
 * What `opened` has the file open by. No other descriptor will do: whoever opens the file and closes it drops the locks of
 * SQLite, and a failure of the disk is reported once by each, so one of the writer's would keep it from the writer.
 */
let descriptor: number | undefined;

function database(): SqliteDatabase {
  const others = descriptorsOf(file);
  const current = connection.database();
  if (current === opened) return current;
  opened = current;
  const own = descriptorsOf(file).filter((one) => !others.includes(one));
  // Another thread may have opened the file meanwhile.
  descriptor = own.length === 1 ? own[0] : undefined;
  return current;
}

function sync(): void {
  try {
    if (descriptor !== undefined) fdatasyncSync(descriptor);
  } catch {
    // The writer syncs before it begins the log anew, and is told the same.
  }
}

answerRequests({
  copyLog() {
    try {
      return copyMostOfLog(database(), sync);
    } catch (failure) {
      connection.failed(failure);
      throw failure;
    }
  },
  async close() {
    connection.close();
  },
});
tell({ kind: 'ready' });
