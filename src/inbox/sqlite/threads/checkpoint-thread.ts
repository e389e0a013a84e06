/**
 * The checkpoint thread copies the write-ahead log into the file while the writer commits.
 *
 * @module
 */
import { fdatasyncSync } from 'node:fs';
import { ownConnection } from '../connection.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { descriptorsOf } from '../opening/files-in-use.ts';
import { copyMostOfLog } from '../opening/checkpoints.ts';
import { SEARCH_INDEX } from '../operator/search-words.ts';
import { answerRequests, beginThread, send } from './thread.ts';

const file = beginThread();
const connection = ownConnection(file, SEARCH_INDEX, { isThere: true });
let opened: SqliteDatabase | null = null;
/**
 * The descriptor of the file that `opened` uses. Closing one from `open()` would release the locks of SQLite. A
 * descriptor reports a failed sync once, and the writer must get this report itself.
 */
let descriptor: number | undefined;

function database(): SqliteDatabase {
  const others = descriptorsOf(file);
  const current = connection.statements().database;
  if (current === opened) return current;
  opened = current;
  const own = descriptorsOf(file).filter((one) => !others.includes(one));
  // If another thread opens the file now, there are two.
  descriptor = own.length === 1 ? own[0] : undefined;
  return current;
}

function sync(): void {
  if (descriptor !== undefined) fdatasyncSync(descriptor);
}

answerRequests({
  operations: {
    copyLog() {
      try {
        return copyMostOfLog(database(), sync);
      } catch (failure) {
        connection.failed(failure);
        throw failure;
      }
    },
  },
  async close() {
    connection.close();
  },
});
send({ kind: 'ready' });
