import { latestTime, setBackBy } from '../rules/claim.ts';
import type { Session } from './driver/session.ts';
import type { Tables } from './sql/tables.ts';

/**
 * Remembers the time at which leases and due times are written (rules/claim.ts), before they are. In a transaction of its
 * own: all machines share the row, and who held it until the end of another one would hold up all others. It says that it
 * writes, as a role may be set to only read unless told otherwise.
 */
export class LatestTime {
  readonly #t: Tables;
  #noted = 0;

  constructor(t: Tables) {
    this.#t = t;
  }

  async note(session: Session, now: number): Promise<void> {
    const latest = latestTime(0, now);
    // Much earlier, the clock was set back, and whoever has followed it has forgotten what was noted.
    if (latest <= this.#noted && setBackBy(this.#noted, now) === 0) return;
    await session.inOneMessage([
      'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
      `UPDATE ${this.#t.clock} SET latest_ms = ${latest} WHERE latest_ms < ${latest}`,
      'COMMIT',
    ]);
    this.#noted = latest;
  }
}
