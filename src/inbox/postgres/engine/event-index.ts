import type { Session } from '../driver/session.ts';
import type { Tables } from '../sql/tables.ts';

/** What finds events by what they say of themselves. It is kept by whoever searches, in the transactions that move events. */
export interface EventIndex {
  /** Call it before the entity or the body of an event changes. */
  forget(session: Session, t: Tables, seq: number): Promise<void>;
  /** Call it after it has changed. */
  add(session: Session, t: Tables, seq: number): Promise<void>;
}
