import { boundToHere } from '../../../host/own-context.ts';
import { wallTime } from '../../../host/real-timers.ts';
import type { GroupCommit } from '../../group-commit.ts';
import type { Clock, Dialect, Statement } from '../../operator/sql.ts';
import type { Connection } from '../connection.ts';
import type { Statements } from '../engine/sqlite-store.ts';
import type { Change } from '../changes.ts';
import { waitedSince } from '../../queue-moves.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { tables } from '../opening/schema.ts';
import { DEAD, DEAD_AT, PRINT, READY, STATE_TO_ACT_ON } from '../sql/named-statements.ts';
import { keyIs, statement } from '../sql/statement.ts';
import { FREE, type BorrowLock } from '../threads/write-lock.ts';

export interface Access {
  /** The connection, for reading outside a transaction. */
  readonly database: () => SqliteDatabase;
  /**
   * Runs `work` in its own transaction.
   *
   * @param work - awaits only the database; gets the change of the clock while it waited, in milliseconds
   */
  readonly write: <T>(work: Write<T>) => Promise<T>;
  /** Runs while no other connection of this process writes, outside a transaction. */
  readonly alone: <T>(work: (database: SqliteDatabase) => T) => Promise<T>;
  /** Tells processors that events may have become due. */
  readonly notify: () => void;
}

type Write<T> = (statements: Statements, waitedMs: number, isOver: () => boolean) => T | Promise<T>;

export function accessOf(
  connection: Connection,
  changes: GroupCommit<Change>,
  notify: () => void,
  borrow: BorrowLock = FREE,
): Access {
  const database = (): SqliteDatabase => connection.statements().database;

  return {
    database,
    write<T>(work: Write<T>) {
      const requestedAt = wallTime();
      const change: Change = async (statements, isOver) => work(statements, waitedSince(requestedAt), isOver);
      // Work may call functions of its caller.
      return changes.submitMove(boundToHere(change)) as Promise<T>; // the result of the work
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

/** In `hookbox_progress`, the last event in the index of terms. */
export const INDEXED = 'terms';

const aside = (parked: 1 | 2, limit: number): string => `
  SELECT * FROM (
    SELECT endpoint, type, parked AS list FROM hookbox_events WHERE parked > 0 AND parked = ${parked} ORDER BY seq
    LIMIT ${limit}
  )`;

const givenColumn = (name: string, at: number): string => `$${at + 1} ->> json_each.key AS ${name}`;

export const sqlite: Dialect = {
  t: tables,
  keyIs,
  anyOf: (column, parameter) => `${column} IN (SELECT value FROM json_each(${parameter}))`,
  joinRow: (table, as, where) => `CROSS JOIN ${table} AS ${as} ON ${where(as)}`,
  list: (parameter) => `json_each(${parameter})`,
  given: (columns) => `(SELECT ${Object.keys(columns).map(givenColumn).join(', ')} FROM json_each($1)) AS given`,
  aside: (limit) => `${aside(1, limit)} UNION ALL ${aside(2, limit)}`,
  ready: `hookbox_events AS ready WHERE ${READY}`,
  event: { joins: '', columns: 'events.settled_ms AS put_away_ms' },
  handled: {
    joins: '',
    columns: `events.due_ms, events.settled_ms, events.attempts AS begun, events.failures, events.crashes, events.trigger,
      events.fingerprint, events.yields`,
  },
  jsonObject: 'json_object',
  jsonList: 'json_group_array',
  fromJson: (json) => JSON.parse(json) as unknown,
  dead: { from: DEAD, inTime: DEAD_AT, print: PRINT },
  toKey: (text) => text,
  returningSeq: '',
  forUpdate: '',
  now: "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
  state: 'state, dead_reason',
  stateToActOn: `${STATE_TO_ACT_ON}, dead_reason`,
  queued: 'events',
  attempts: 'events.attempts',
  settled: 'events.settled_ms',
  indexed: `coalesce((SELECT seq FROM hookbox_progress WHERE what = '${INDEXED}'), 0)`,
  knownBody: 'events.body, events.body_sha256 AS hash',
  errorsGone: 'error_message = NULL, error_stack = NULL, skipped = NULL, log = NULL',
  ofImportedAttempt: () => ({}),
  clearBulks: (old, limit) => `
    DELETE FROM hookbox_bulk_events WHERE (bulk, seq) IN (
      SELECT events.bulk, events.seq FROM hookbox_bulks AS bulks
        CROSS JOIN hookbox_bulk_events AS events ON events.bulk = bulks.id
      WHERE ${old} LIMIT ${limit}
    ) RETURNING seq`,
};

export function clockAfter(waitedMs: number): Clock {
  return { toDatabase: (ms) => ms + waitedMs, toCaller: (ms) => ms };
}

/** Without rows, the result is the `seq` of the last inserted row. */
export function rowsOf<Row>(database: SqliteDatabase, { text, values = [] }: Statement): Row[] {
  const prepared = statement<Row>(database, text);
  const named = Object.fromEntries(values.map((value, at) => [at + 1, parameterOf(value)]));
  const given = values.length === 0 ? [] : [named];
  if (prepared.reader) return prepared.all(...given);
  return [{ seq: Number(prepared.run(...given).lastInsertRowid) } as Row];
}

function parameterOf(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value);
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

/** From one snapshot. */
export function readTogether<T>(database: SqliteDatabase, read: () => T): T {
  const begun = begin(database);
  try {
    return read();
  } finally {
    if (begun && database.inTransaction) database.exec('COMMIT');
  }
}

function begin(database: SqliteDatabase): boolean {
  // The application's transaction, or its open read, already has a snapshot.
  if (database.inTransaction) return false;
  try {
    database.exec('BEGIN');
    return true;
  } catch (failure) {
    if (failure instanceof TypeError) return false;
    throw failure;
  }
}
