import type { EventKey } from '../../event.ts';
import type { SqliteDatabase } from '../opening/database.ts';

/** What finds events by what they say of themselves. It is kept by whoever searches, in the transactions that move events. */
export interface EventIndex {
  /** Call it before the entity or the body of an event changes. */
  forget(database: SqliteDatabase, event: EventKey): void;
  /** Call it after it has changed. */
  add(database: SqliteDatabase, event: EventKey): void;
}
