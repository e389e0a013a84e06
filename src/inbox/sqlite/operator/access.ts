import { boundToHere } from '../../../host/own-context.ts';
import { wallTime, performance } from '../../../host/real-timers.ts';
import type { GroupCommit } from '../../group-commit.ts';
import { actedEvents, auditLine, countsOfLine, moreCounts, type AuditLine } from '../../operator/audit.ts';
import type { Author } from '../../operator/acts.ts';
import type { TimeSlice } from '../../rules/budget.ts';
import {
  sharedTables,
  type Clock,
  type Dialect,
  type OperatorTables,
  type Read,
  type Statement,
} from '../../operator/sql.ts';
import type { Connection } from '../connection.ts';
import type { Statements } from '../engine/sqlite-store.ts';
import { type Work, waitedSince } from '../jobs.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { DEAD, PRINT, READY, STATE_TO_ACT_ON } from '../sql/queue-statements.ts';
import { keyIs, statement } from '../sql/statement.ts';
import { FREE, type BorrowLock } from '../threads/write-lock.ts';

/** How operations reach the tables. */
export interface Access {
  /** The connection, for reading outside a transaction. */
  readonly database: () => SqliteDatabase;
  /**
   * Runs synchronous work in the next group commit, with what else waits; resolves when that is on disk. What is thrown
   * takes these back as well, so nothing should be.
   *
   * @param work - told by how much the clock has moved while it waited for that commit, in milliseconds
   */
  readonly write: <T>(work: (statements: Statements, waitedMs: number) => T) => Promise<T>;
  /** Runs synchronous work outside of a transaction while nobody else in this process writes. */
  readonly alone: <T>(work: (database: SqliteDatabase) => T) => Promise<T>;
  /** Tells processors that events may have become due. */
  readonly notify: () => void;
}

export function accessOf(
  connection: Connection,
  commits: Pick<GroupCommit<Work>, 'submitMove'>,
  notify: () => void,
  borrow: BorrowLock = FREE,
): Access {
  function database(): SqliteDatabase {
    connection.statements(); // opens the file afresh where it has to be
    return connection.database();
  }

  return {
    database,
    write<T>(work: (statements: Statements, waitedMs: number) => T) {
      const askedAt = wallTime();
      // A job resolves with what its work has returned.
      const job = (statements: Statements): T => work(statements, waitedSince(askedAt));
      // The work may call functions of its caller, such as an entity rule.
      return commits.submitMove(boundToHere(job)) as Promise<T>;
    },
    async alone(work) {
      const giveBack = await borrow();
      try {
        return work(database());
      } finally {
        giveBack();
      }
    },
    notify,
  };
}

const aside = (parked: 1 | 2, limit: number): string => `
  SELECT * FROM (
    SELECT endpoint, type, parked AS list FROM hookbox_events WHERE parked > 0 AND parked = ${parked} ORDER BY seq
    LIMIT ${limit}
  )`;

const givenColumn = (name: string, at: number): string => `$${at + 1} ->> json_each.key AS ${name}`;

const HANDLED = `
  events.due_ms, events.settled_ms, events.attempts AS begun, events.failures, events.crashes, events.trigger,
  events.fingerprint, events.yields`;

export const sqlite: Dialect = {
  t: Object.fromEntries(sharedTables.map((name) => [name, `hookbox_${name}`])) as Dialect['t'], // one for each name
  keyIs,
  anyOf: (column, parameter) => `${column} IN (SELECT value FROM json_each(${parameter}))`,
  joinRow: (table, as, where) => `CROSS JOIN ${table} AS ${as} ON ${where(as)}`,
  list: (parameter) => `json_each(${parameter})`,
  given: (columns) => `(SELECT ${Object.keys(columns).map(givenColumn).join(', ')} FROM json_each($1)) AS given`,
  aside: (limit) => `${aside(1, limit)} UNION ALL ${aside(2, limit)}`,
  ready: `hookbox_events AS ready WHERE ${READY}`,
  event: { joins: '', columns: 'events.settled_ms AS put_away_ms' },
  handled: { joins: '', columns: HANDLED },
  jsonObject: 'json_object',
  jsonList: 'json_group_array',
  fromJson: (json) => JSON.parse(json) as unknown,
  dead: { from: DEAD, print: PRINT },
  toKey: (text) => text,
  returningSeq: '',
  forUpdate: '',
  now: "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
  state: 'state, dead_reason',
  stateToActOn: `${STATE_TO_ACT_ON}, dead_reason`,
  queued: 'events',
};

/** The tables of a file. */
export function operatorTables({ database, write, notify }: Access): OperatorTables {
  const read: Read = (work) =>
    work({ ...clockAfter(0), rows: async <Row>(asked: Statement) => rowsOf(database(), asked) as Row[] });
  return {
    dialect: sqlite,
    read,
    inSteps: (work) => work(read),
    change: ({ load, plan }) =>
      write(({ database: writing }, waitedMs) => {
        const clock = clockAfter(waitedMs);
        const loaded = load?.(clock).map((asked) => rowsOf(writing, asked)) ?? [];
        const { save = [], result } = plan(loaded as never, clock); // the rows of its statements
        return result(save.map((asked) => rowsOf(writing, asked)));
      }),
    append: (statements) =>
      write(({ database: writing }) => statements(clockAfter(0)).forEach((asked) => rowsOf(writing, asked))),
    notify,
  };
}

/** The clock of a transaction that has waited for the file, while the clock may have been set. */
export function clockAfter(waitedMs: number): Clock {
  return { toDatabase: (ms) => ms + waitedMs, toCaller: (ms) => ms };
}

/** Runs a statement. If it returns no rows, the result is the `seq` of the last inserted row. */
export function rowsOf(database: SqliteDatabase, { text, values = [] }: Statement): readonly unknown[] {
  const prepared = statement(database, text);
  const named = Object.fromEntries(values.map((value, at) => [at + 1, parameterOf(value)]));
  const given = values.length === 0 ? [] : [named];
  if (prepared.reader) return prepared.all(...given);
  return [{ seq: Number(prepared.run(...given).lastInsertRowid) }];
}

function parameterOf(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value);
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

const { t } = sqlite;

/** Adds a line in the transaction of its action, and returns its `seq`. */
export function addAuditLine(
  database: SqliteDatabase,
  act: string,
  author: Author,
  filter: unknown,
  counts: AuditLine['counts'],
): number {
  const [row] = rowsOf(database, auditLine(sqlite, act, author, filter, counts));
  return (row as { seq: number }).seq; // its column
}

export function noteActed(database: SqliteDatabase, line: number, events: readonly number[], now: number): void {
  if (events.length > 0) rowsOf(database, actedEvents(sqlite, line, events, now));
}

export function addToAuditLine(database: SqliteDatabase, seq: number, more: AuditLine['counts']): void {
  const [row] = rowsOf(database, countsOfLine(sqlite, seq));
  for (const save of moreCounts(t, row as { seq: number; counts: string } | undefined, more)) rowsOf(database, save);
}

/** Reads from several tables or indexes as of one time, whatever other processes write meanwhile. */
export function readTogether<T>(database: SqliteDatabase, read: () => T): T {
  const begun = begin(database);
  try {
    return read();
  } finally {
    if (begun && database.inTransaction) database.exec('COMMIT');
  }
}

/** Not inside a transaction of the application, nor while it reads rows one by one: nothing changes then either. */
function begin(database: SqliteDatabase): boolean {
  if (database.inTransaction) return false;
  try {
    database.exec('BEGIN');
    return true;
  } catch (failure) {
    if (failure instanceof TypeError) return false;
    throw failure;
  }
}

/** How far something that goes through the events in their order has come: 0 before it began. */
export function progressOf(database: SqliteDatabase, what: string): number {
  const row = statement(database, 'SELECT seq FROM hookbox_progress WHERE what = ?').get(what);
  return (row as { seq: number } | undefined)?.seq ?? 0;
}

export function setProgress(database: SqliteDatabase, what: string, seq: number): void {
  statement(
    database,
    'INSERT INTO hookbox_progress (what, seq) VALUES (?, ?) ON CONFLICT (what) DO UPDATE SET seq = excluded.seq',
  ).run(what, seq);
}

/** For so long one transaction works on what waits: deliveries share its commit, and the event loop stands still. */
const SLICE_MS = 10;
/** So much it writes at most, and one row: the commit writes it once more, when the time can no longer be looked at. */
const SLICE_BYTES = 1024 * 1024;
/** The time is looked at after so much. Small rows cost some microseconds each; the limit of their batch bounds them. */
const LOOK_BYTES = 64 * 1024;

/**
 * What bounds a transaction over many rows. Any change of a row writes it anew with its body, so rows alone do not.
 *
 * @param lookBytes - the time is looked at after so much; 0 where each row takes a while, whatever its length
 */
export function timeSlice(lookBytes = LOOK_BYTES): TimeSlice {
  const startedAt = performance.now();
  let bytes = 0;
  let lookedAt = 0;
  let over = false;
  const isDue = (): boolean => bytes - lookedAt >= lookBytes;
  return {
    add(more) {
      bytes += more;
      return isDue();
    },
    isOver() {
      if (over || !isDue()) return over;
      lookedAt = bytes;
      over = bytes >= SLICE_BYTES || performance.now() - startedAt > SLICE_MS;
      return over;
    },
  };
}
