import { latestTime, setBackBy } from '../rules/set-back.ts';
import type { Session } from './driver/session.ts';
import type { Tables } from './sql/tables.ts';

/**
 * Remembers the time at which leases and due times are written (rules/set-back.ts), before they are. In a statement of its own:
 * all machines share the row, and who held it until the end of a transaction would hold up all others.
 */
export class LatestTime {
  readonly #text: string;
  #noted = 0;

  constructor(t: Tables) {
    this.#text = `UPDATE ${t.clock} SET latest_ms = $1::bigint WHERE latest_ms < $1::bigint`;
  }

  async note(session: Session, now: number): Promise<void> {
    const latest = latestTime(0, now);
    // Much earlier, the clock was set back, and whoever has followed it has forgotten what was noted.
    if (latest <= this.#noted && setBackBy(this.#noted, now) === 0) return;
    await session.run(this.#text, [latest]);
    this.#noted = latest;
  }
}
