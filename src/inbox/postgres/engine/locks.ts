import { InboxUnavailableError } from '../../../errors.ts';
import type { EventKey } from '../../event.ts';
import type { Session } from '../driver/session.ts';
import { rowOf, type Tables } from '../sql/tables.ts';

/** The slots (sql/slots.ts) whose locks one transaction holds. */
export interface Locks {
  /** Waits for them. In the order of the slots, so that two who want several do not wait for each other. */
  take(slots: readonly number[]): Promise<void>;
  /** Those of them that are free, or held already; waits for nobody. */
  takeFree(slots: readonly number[]): Promise<ReadonlySet<number>>;
  holds(slot: number): boolean;
  all(): readonly number[];
  /** Slots that another statement has locked. */
  note(slots: readonly number[]): void;
  /** Waits for those of events in the queue. */
  takeOf(seqs: readonly number[]): Promise<void>;
  /** Waits for those of events by their keys; an event that is not there has none. */
  takeOfKeys(keys: readonly EventKey[]): Promise<void>;
  /** As `takeOfKeys`, of events by their numbers. */
  takeOfSeqs(seqs: readonly number[]): Promise<void>;
}

const GONE =
  'the table "slots" is missing rows that hookbox locks: run npx hookbox doctor, which prints the SQL to restore ' +
  'them';

/**
 * Each transaction of a claim or a start holds the lock of its number. A claim also takes the locks of lost claims, so it waits
 * for a COMMIT whose connection was lost, and its next statement sees what that transaction wrote.
 *
 * @param numbers - SQL of the numbers
 */
export function claimLocks(numbers: string): string {
  return `SELECT pg_advisory_xact_lock(claim) FROM unnest(${numbers}::bigint[]) AS claims (claim)`;
}

export function locksOf(session: Session, t: Tables): Locks {
  const held = new Set<number>();
  const named = `SELECT slot FROM ${t.slots} WHERE slot = ANY($1::smallint[]) ORDER BY slot FOR UPDATE`;
  const ofEvents = `
    SELECT slot FROM ${t.slots} WHERE slot = ANY(ARRAY(SELECT slot FROM ${t.queue} WHERE seq = ANY($1::bigint[])))
    ORDER BY slot FOR UPDATE`;
  const note = (rows: readonly { slot: number }[]): void => {
    for (const { slot } of rows) held.add(slot);
  };
  const missing = (slots: readonly number[]): number[] => [...new Set(slots)].filter((slot) => !held.has(slot));
  const ofKeys = `
    SELECT DISTINCT events.slot FROM unnest($1::text[], $2::text[]) AS given (id, endpoint)
    CROSS JOIN ${rowOf(t.events, 'events', 'found.id = given.id AND found.endpoint = given.endpoint')}`;

  const ofSeqs = `SELECT DISTINCT slot FROM ${t.events} WHERE seq = ANY($1::bigint[])`;

  async function take(slots: readonly number[]): Promise<boolean> {
    const wanted = missing(slots);
    if (wanted.length > 0) note(await session.rows(named, [wanted]));
    // A missing row locks out no transaction.
    if (missing(wanted).length > 0) throw new InboxUnavailableError('FAILED', GONE);
    return wanted.length > 0;
  }

  /** Somebody may have moved an event to another slot while this one was waited for. */
  async function takeAll(text: string, values: readonly unknown[]): Promise<void> {
    for (;;) {
      const slots = await session.rows<{ slot: number }>(text, values);
      if (!(await take(slots.map(({ slot }) => slot)))) return;
    }
  }

  return {
    holds: (slot) => held.has(slot),
    all: () => [...held],
    note(slots) {
      for (const slot of slots) held.add(slot);
    },
    async take(slots) {
      await take(slots);
    },
    async takeFree(slots) {
      const wanted = missing(slots);
      if (wanted.length > 0) note(await session.rows(`${named} SKIP LOCKED`, [wanted]));
      return held;
    },
    async takeOf(seqs) {
      if (seqs.length > 0) note(await session.rows(ofEvents, [seqs]));
    },
    takeOfKeys: (keys) => takeAll(ofKeys, [keys.map(({ id }) => id), keys.map(({ endpoint }) => endpoint)]),
    takeOfSeqs: (seqs) => takeAll(ofSeqs, [seqs]),
  };
}
