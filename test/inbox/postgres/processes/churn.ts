import type { Pool, PoolClient } from 'pg';
import { InboxUnavailableError, isInstance } from '../../../../src/errors.ts';
import type { Inbox } from '../../../../src/inbox/contract.ts';
import type { Tables } from '../../../../src/inbox/postgres/sql/tables.ts';
import { EVERYTHING, type ClaimedEvent, type Settlement } from '../../../../src/inbox/work.ts';
import { incoming, later } from '../../../helpers/incoming-event.ts';

const ERROR = { name: 'Error', message: 'again', stack: null };
const AT_ONCE = 250;
const CREATED = { ms: 1_767_225_600_000, ns: 0 };

/** Waiting events; the number of earlier events does not matter. */
export const WAITING = 1_000;
const ENTITIES = 2_000;

/** Events pass through these tables; `events` and `attempts` grow, and are pruned. */
const PASSED_THROUGH = ['queue', 'shelf', 'entities', 'effects', 'slots', 'clock'] as const;

export type Sizes = ReadonlyMap<string, number>;

export async function sizesOf(pool: Pool, t: Tables): Promise<Sizes> {
  const { rows } = await pool.query<{ name: string; bytes: string }>(
    `SELECT name, pg_relation_size(given::regclass) + pg_indexes_size(given::regclass) AS bytes
     FROM unnest($1::text[], $2::text[]) AS given (name, given)`,
    [PASSED_THROUGH, PASSED_THROUGH.map((name) => t[name])],
  );
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}

/** Of fifty events, one fails and runs again, one uses `ctx.transaction`, and one is dead and rerun. */
export class Churn {
  readonly #inbox: Inbox<PoolClient>;
  #stored = 0;
  #done = 0;

  constructor(inbox: Inbox<PoolClient>) {
    this.#inbox = inbox;
  }

  get done(): number {
    return this.#done;
  }

  async until(count: number): Promise<void> {
    while (this.#done < count) {
      await this.#store(WAITING + this.#done - this.#stored);
      const request = { ...EVERYTHING, now: Date.now(), leaseMs: 60_000, ordered: true };
      const claimed = await this.#inbox.claim(request, AT_ONCE);
      await Promise.all(claimed.map((event, n) => this.#end(event, n % 50)));
    }
  }

  async #store(missing: number): Promise<void> {
    const events = Array.from({ length: Math.max(0, missing) }, () => {
      const n = (this.#stored += 1);
      const created = { ...CREATED, ms: CREATED.ms + n };
      return incoming({ id: `evt_${n}`, entity: `order::${n % ENTITIES}`, created, receivedAt: Date.now() });
    });
    await Promise.all(events.map((event) => this.#inbox.accept(event, later())));
  }

  async #end(event: ClaimedEvent, way: number): Promise<void> {
    const [inbox, { lease, attempt }, now] = [this.#inbox, event, Date.now()];
    const settle = async (settlement: Settlement): Promise<void> => void (await inbox.settle(lease, settlement, now));
    if (attempt === 1 && way === 0) return settle({ outcome: 'retry', error: ERROR, dueAt: now });
    if (attempt === 1 && way === 1) {
      await settle({ outcome: 'dead', reason: 'failed', error: ERROR });
      const { id, endpoint } = event;
      const stored = await inbox.get({ id, endpoint });
      if (stored === null || !(await inbox.rerun({ id, endpoint }, stored, now))) throw new Error(`${id} is not dead`);
      return;
    }
    if (way === 2) {
      if (!(await this.#transacted(event))) return settle({ outcome: 'retry', error: ERROR, dueAt: now });
    } else await settle({ outcome: 'processed' });
    this.#done += 1;
  }

  /** `false` if a slow server answers too late. */
  async #transacted({ lease }: ClaimedEvent): Promise<boolean> {
    try {
      await this.#inbox.transaction(lease, () => {}, { now: Date.now, signal: new AbortController().signal });
      return true;
    } catch (failure) {
      if (isInstance(failure, InboxUnavailableError)) return false;
      throw failure;
    }
  }
}
