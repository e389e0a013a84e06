import { InboxUnavailableError } from '../../../errors.ts';
import { performance } from '../../../host/real-timers.ts';
import type { EventKey } from '../../event.ts';
import { foldTypes, hasOwnType, NamedTypes, Tally } from '../../rules/counted.ts';
import type { TimeSlice } from '../../rules/budget.ts';
import type { RunningEvent } from '../../rules/store.ts';
import type { DatabaseTime } from '../database-time.ts';
import type { Session } from '../driver/session.ts';
import type { movesOf } from '../moves.ts';
import { countsToAdd, inOneStatement, type Write } from '../sql/statements.ts';
import { type Tables, rowOf, keyOrNull } from '../sql/tables.ts';

/** One transaction, as the statements of the engine see it. */
export interface Scene {
  readonly session: Session;
  readonly t: Tables;
  readonly moves: ReturnType<typeof movesOf>;
  readonly locks: Locks;
  readonly writes: Writes;
  readonly index: EventIndex;
}

/** What finds events by what they say of themselves. It is kept by whoever searches, in the transactions that move events. */
export interface EventIndex {
  /** Call it before the entity or the body of an event changes. */
  forget(session: Session, t: Tables, seq: number): Promise<void>;
  /** Call it after it has changed. */
  add(session: Session, t: Tables, seq: number): Promise<void>;
}

/** The slots (`SLOTS`) whose locks one transaction holds. */
interface Locks {
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

type Mark = Pick<RunningEvent, 'endpoint' | 'entity' | 'created'>;

/** Changes that no later statement of the same rule reads: written together, once for many events. */
interface Writes {
  readonly counts: Tally;
  /** Events that were parked may be claimed again. */
  unpark(seqs: readonly number[]): void;
  /** Takes its body away. */
  prune(seq: number, hash: Uint8Array): void;
  pruneErrors(seq: number): void;
  forgetConflict(seq: number): void;
  /** What was counted, which is forgotten here. */
  countsToWrite(): Promise<readonly Write[]>;
  /** Before the commit. */
  flush(): Promise<void>;
}

export function writesOf(
  session: Session,
  t: Tables,
  moves: ReturnType<typeof movesOf>,
  time: Pick<DatabaseTime, 'toDatabase'>,
): Writes {
  const counts = new Tally();
  const unparked: number[] = [];
  const pruned: (readonly [number, Uint8Array])[] = [];
  const withoutErrors: number[] = [];
  const withoutConflict: number[] = [];

  async function countsToWrite(): Promise<readonly Write[]> {
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
  }

  return {
    counts,
    unpark: (seqs) => void unparked.push(...seqs),
    prune: (seq, hash) => void pruned.push([seq, hash]),
    pruneErrors: (seq) => void withoutErrors.push(seq),
    forgetConflict: (seq) => void withoutConflict.push(seq),
    countsToWrite,
    async flush() {
      const together: Write[] = [
        { text: moves.unpark, values: [unparked.splice(0)] },
        { text: pruneErrors(t), values: [withoutErrors.splice(0)] },
        {
          text: `DELETE FROM ${t.conflicts} WHERE seq = ANY($1::bigint[])`,
          values: [withoutConflict.splice(0)],
        },
      ].filter(({ values: [first] }) => Array.isArray(first) && first.length > 0);
      together.push(...(await countsToWrite()));
      const bodies = pruned.splice(0);
      const columns = [bodies.map(([seq]) => seq), bodies.map(([, hash]) => hash)];
      await Promise.all([
        // By itself, because it has a WITH.
        ...(bodies.length === 0 ? [] : [session.run(moves.prune, columns)]),
        ...(together.length === 0 ? [] : [run(session, inOneStatement(together))]),
      ]);
    },
  };
}

function run(session: Session, { text, values }: Write): Promise<number> {
  return session.run(text, values);
}

/** Takes away what the errors of events said, and leaves their names. */
export function pruneErrors(t: Tables): string {
  return `
    UPDATE ${t.attempts} SET prunable = false, error_message = NULL, error_stack = NULL, skipped = NULL
    WHERE seq = ANY($1::bigint[]) AND (prunable OR error_name IS NOT NULL OR skipped IS NOT NULL)`;
}

/** Remembers the newest processed event of each entity. */
export function marksToRaise(t: Tables, marks: readonly Mark[]): Write {
  const known = marks.flatMap(({ created, ...queue }) => (created === null ? [] : [{ ...queue, created }]));
  return {
    text: `
      INSERT INTO ${t.entities} AS known (entity, endpoint, created_ms, created_ns)
      SELECT DISTINCT ON (entity, endpoint) entity, endpoint, created_ms, created_ns
      FROM unnest($1::text[], $2::text[], $3::bigint[], $4::integer[]) AS given (entity, endpoint, created_ms, created_ns)
      ORDER BY entity, endpoint, created_ms DESC, created_ns DESC
      ON CONFLICT (entity, endpoint) DO UPDATE SET created_ms = excluded.created_ms, created_ns = excluded.created_ns
      WHERE (excluded.created_ms, excluded.created_ns) > (known.created_ms, known.created_ns)`,
    values: [
      known.map(({ entity }) => keyOrNull(entity)),
      known.map(({ endpoint }) => endpoint),
      known.map(({ created }) => created.ms),
      known.map(({ created }) => created.ns),
    ],
  };
}

const known = new WeakMap<Tables, NamedTypes>();

/** The types of an application's own that are counted by their names, as handlers name them. */
export async function namedTypes(session: Session, t: Tables): Promise<ReadonlySet<string>> {
  const named = known.get(t) ?? new NamedTypes();
  known.set(t, named);
  if (named.isFresh) return named.names;
  const rows = await session.rows<{ type: string }>(`SELECT DISTINCT type FROM ${t.handling}`, []);
  return named.learn(rows.map(({ type }) => type));
}

/** For so long one transaction works on what waits: others wait for the slots that it holds. */
const SLICE_MS = 100;
/** So many events it takes in any case: on a machine that is slow for a moment, a few of them take as long. */
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
