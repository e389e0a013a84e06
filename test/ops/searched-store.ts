import Database from 'better-sqlite3';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { Search } from '../../src/inbox/operator/search.ts';
import type { SqliteDatabase } from '../../src/inbox/sqlite/opening/database.ts';
import { sqliteOperations } from '../../src/inbox/sqlite/operator/operations.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { ownFolder } from '../helpers/scratch-folder.ts';
import { START } from '../helpers/virtual-clock.ts';
import { bury } from './events-in-states.ts';

const MINUTE_MS = 60_000;

export interface SearchedStore extends AsyncDisposable {
  readonly inbox: Inbox;
  /** searches where nothing can be written, the index included */
  readonly readOnly: Pick<Search, 'search' | 'countFound'>;
  readonly bury: (id: string) => Promise<void>;
  /**
   * Of what is pending a third waits for an older one, and a third has not been looked at. A fifth was ignored, a minute after
   * the other from START on; a third of that was discarded instead.
   */
  readonly mixPending: () => Promise<void>;
  /** When what nobody handled was put away, by `seq`. */
  putAway(): Promise<ReadonlyMap<number, Date>>;
  forgetIndex(): Promise<void>;
  lockIndex(): Promise<AsyncDisposable>;
}

export function sqliteShop(database: SqliteDatabase): Pick<SearchedStore, 'bury' | 'mixPending'> {
  return {
    bury: async (id) => bury(database, id),
    async mixPending() {
      database.exec(`
        UPDATE hookbox_events SET parked = seq % 3 WHERE state = 'pending';
        UPDATE hookbox_events
        SET state = CASE seq % 3 WHEN 0 THEN 'discarded' ELSE 'ignored' END,
            settled_ms = ${START} + seq * ${MINUTE_MS}, parked = 0
        WHERE state = 'pending' AND seq % 5 = 0`);
    },
  };
}

export async function searchedFile(): Promise<SearchedStore> {
  const folder = ownFolder();
  const file = `${folder.path}/shop.db`;
  const database = new Database(file);
  const inbox = sqliteInbox({ database });
  return {
    inbox,
    readOnly: sqliteOperations({
      database: () => database,
      write: () => Promise.reject(new Error('the disk is full')),
      alone: async (work) => work(database),
      notify: () => {},
    }),
    ...sqliteShop(database),
    async putAway() {
      const rows = database
        .prepare<[], { seq: number; at: number }>(
          "SELECT seq, settled_ms AS at FROM hookbox_events WHERE state = 'ignored'",
        )
        .all();
      return new Map(rows.map(({ seq, at }) => [seq, new Date(at)]));
    },
    async forgetIndex() {
      database.exec('DELETE FROM hookbox_terms; DELETE FROM hookbox_progress');
    },
    async lockIndex() {
      const other = new Database(file);
      other.exec('BEGIN IMMEDIATE');
      return {
        async [Symbol.asyncDispose]() {
          other.exec('ROLLBACK');
          other.close();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await inbox.close();
      database.close();
      folder[Symbol.dispose]();
    },
  };
}
