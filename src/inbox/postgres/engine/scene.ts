import type { Session } from '../driver/session.ts';
import type { Tables } from '../sql/tables.ts';
import type { movesOf } from '../moves.ts';
import type { EventIndex } from './event-index.ts';
import type { Locks } from './locks.ts';
import type { Writes } from './writes.ts';

/** One transaction, as the statements of the engine see it. */
export interface Scene {
  readonly session: Session;
  readonly t: Tables;
  readonly moves: ReturnType<typeof movesOf>;
  readonly locks: Locks;
  readonly writes: Writes;
  readonly index: EventIndex;
}
