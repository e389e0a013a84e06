import type { Database } from './driver/database.ts';
import type { Session } from './driver/session.ts';
import type { UnconfirmedClaims } from '../unconfirmed-claims.ts';
import type { DatabaseTime } from './database-time.ts';
import type { EventIndex } from './engine/event-index.ts';
import { locksOf } from './engine/locks.ts';
import type { Scene } from './engine/scene.ts';
import { writesOf } from './engine/writes.ts';
import { Horizon } from './horizon.ts';
import type { LatestTime } from './latest-time.ts';
import type { movesOf } from './moves.ts';
import type { Tables } from './sql/tables.ts';

/** What the parts of an inbox share. */
export interface Store {
  readonly database: Database;
  readonly t: Tables;
  readonly moves: ReturnType<typeof movesOf>;
  readonly time: DatabaseTime;
  readonly latest: LatestTime;
  readonly claims: UnconfirmedClaims;
  readonly index: EventIndex;
  readonly horizon: Horizon;
  /** Before a transaction that writes leases or due times: the database's time is known, and this one remembered. */
  readonly writeAt: (session: Session, now: number, times?: Pick<DatabaseTime, 'toDatabase'>) => Promise<void>;
  /** A transaction of this session, as the engine sees it. */
  readonly scene: (session: Session) => Scene;
}

export function storeOf(parts: Omit<Store, 'horizon' | 'scene' | 'writeAt'>): Store {
  const { t, moves, time, latest, index } = parts;
  return {
    ...parts,
    horizon: new Horizon(t),
    async writeAt(session, now, times = time) {
      await time.follow(session);
      await latest.note(session, times.toDatabase(now));
    },
    scene: (session) => ({
      session,
      t,
      moves,
      locks: locksOf(session, t),
      writes: writesOf(session, t, moves, time),
      index,
    }),
  };
}
