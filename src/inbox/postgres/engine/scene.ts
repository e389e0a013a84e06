import type { Session } from '../driver/session.ts';
import type { Tables } from '../sql/tables.ts';
import type { GivenLeases } from '../given-leases.ts';
import type { movesOf } from '../moves.ts';
import type { EventIndex } from './event-index.ts';
import type { Facts } from './facts.ts';
import type { Locks } from './locks.ts';
import type { Writes } from './writes.ts';

/** One transaction, as the statements of the engine see it. */
export interface Scene {
  readonly session: Session;
  readonly t: Tables;
  readonly moves: ReturnType<typeof movesOf>;
  readonly locks: Locks;
  readonly facts: Facts;
  readonly writes: Writes;
  readonly given: GivenLeases;
  readonly index: EventIndex;
  /** What leases of this transaction keep others from having: their entity, and the place of the one suspect. */
  readonly leases: { readonly ordered: boolean; readonly exclusive: boolean };
}
