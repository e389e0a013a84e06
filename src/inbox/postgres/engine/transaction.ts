import { InboxUnavailableError } from '../../../errors.ts';
import { performance } from '../../../host/real-timers.ts';
import type { EventKey } from '../../event.ts';
import { foldTypes, hasOwnType, NamedTypes, Tally } from '../../rules/counted.ts';
import type { TimeSlice } from '../../rules/budget.ts';
import type { DatabaseTime } from '../database-time.ts';
import type { Session } from '../driver/session.ts';
import type { Moves } from '../moves.ts';
import { countsToAdd, eventOfKey, lists, type Write } from '../sql/statements.ts';
import type { Tables } from '../sql/tables.ts';

export interface Transaction {
  readonly session: Session;
  readonly t: Tables;
  readonly moves: Moves;
  readonly locks: Locks;
  readonly index: EventIndex;
  readonly counts: Tally;
  /** Clears the counts. */
  countsToWrite(): Promise<readonly Write[]>;
}

export type Reading = Pick<Transaction, 'session' | 't'>;

/** The search index of operators, updated in the transactions that move events. */
export interface EventIndex {
  /** Call it before the entity or the body of an event changes. */
  forget(reading: Reading, seq: number): Promise<void>;
  add(reading: Reading, seq: number): Promise<void>;
}

export function transactionOn(
  parts: Pick<Transaction, 't' | 'moves' | 'index'> & { readonly time: DatabaseTime },
  session: Session,
): Transaction {
  const { t, moves, index, time } = parts;
  const counts = new Tally();
  return {
    session,
    t,
    moves,
    index,
    locks: locksOf(session, t),
    counts,
    async countsToWrite() {
      const taken = counts.take();
      if (taken.length === 0) return [];
      const counted = hasOwnType(taken) ? foldTypes(taken, await namedTypes(session, t)) : taken;
      const at = Date.now();
      return [
        countsToAdd(
          t,
          time,
          counted.map((sum) => ({ at, ...sum })),
        ),
      ];
    },
  };
}

const known = new WeakMap<Tables, NamedTypes>();

/** The application's own types that handlers name. */
export async function namedTypes(session: Session, t: Tables): Promise<ReadonlySet<string>> {
  const named = known.get(t) ?? new NamedTypes();
  known.set(t, named);
  if (named.isFresh) return named.names;
  const rows = await session.rows<{ type: string }>(`SELECT DISTINCT type FROM ${t.handling}`, []);
  return named.learn(rows.map(({ type }) => type));
}

const GONE =
  'the table "slots" is missing rows that hookbox locks: run npx hookbox doctor, which prints the SQL to restore ' +
  'them';

/**
 * A claim or a start locks its number. A claim also locks the numbers of lost claims, so it waits for a COMMIT whose
 * connection was lost, and then sees what that transaction wrote.
 *
 * @param numbers - SQL of the numbers
 */
export function claimLocks(numbers: string): string {
  return `SELECT pg_advisory_xact_lock(claim) FROM unnest(${numbers}::bigint[]) AS claims (claim)`;
}

export type Locks = ReturnType<typeof locksOf>;

/** Takes several slots in one order, so that no two transactions deadlock. */
export function locksOf(session: Session, t: Tables) {
  const held = new Set<number>();
  const slots = (which: string): string =>
    `SELECT slot FROM ${t.slots} WHERE slot = ANY(${which}) ORDER BY slot FOR UPDATE`;
  const named = slots('$1::smallint[]');
  const note = (rows: readonly { slot: number }[]): void => {
    for (const { slot } of rows) held.add(slot);
  };
  const missing = (slots: readonly number[]): number[] => [...new Set(slots)].filter((slot) => !held.has(slot));

  async function take(slots: readonly number[]): Promise<boolean> {
    const wanted = missing(slots);
    if (wanted.length > 0) note(await session.rows(named, [wanted]));
    // A missing row does not lock another transaction out.
    if (missing(wanted).length > 0) throw new InboxUnavailableError('FAILED', GONE);
    return wanted.length > 0;
  }

  /** An event may move to another slot during each wait. */
  async function takeAll(text: string, values: readonly unknown[]): Promise<void> {
    for (;;) {
      const slots = await session.rows<{ slot: number }>(text, values);
      if (!(await take(slots.map(({ slot }) => slot)))) return;
    }
  }

  return {
    take,
    holds: (slot: number) => held.has(slot),
    all: () => [...held],
    /** Records slots that another statement has locked. */
    note,
    /** Does not wait. Returns all slots that are held. */
    async takeFree(slots: readonly number[]): Promise<ReadonlySet<number>> {
      const wanted = missing(slots);
      if (wanted.length > 0) note(await session.rows(`${named} SKIP LOCKED`, [wanted]));
      return held;
    },
    async takeOf(seqs: readonly number[]): Promise<void> {
      const inQueue = slots(`ARRAY(SELECT slot FROM ${t.queue} WHERE seq = ANY($1::bigint[]))`);
      if (seqs.length > 0) note(await session.rows(inQueue, [seqs]));
    },
    /** An event that does not exist has none. */
    takeOfKeys: (keys: readonly EventKey[]) =>
      takeAll(`SELECT DISTINCT events.slot FROM ${eventOfKey(t)}`, lists('id, endpoint', keys)),
    takeOfSeqs: (seqs: readonly number[]) =>
      takeAll(`SELECT DISTINCT slot FROM ${t.events} WHERE seq = ANY($1::bigint[])`, [seqs]),
  };
}

/** Other transactions wait for these slots. */
const SLICE_MS = 100;
/** Even on a slow machine, a transaction handles this many events. */
const LEAST = 50;

export function timeSlice(): TimeSlice {
  const endsAt = performance.now() + SLICE_MS;
  let events = 0;
  return {
    add() {
      events += 1;
      return false;
    },
    isOver: () => events > LEAST && performance.now() > endsAt,
  };
}
