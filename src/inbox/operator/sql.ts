import type { TimeSlice } from '../rules/budget.ts';
import type { Counting } from '../rules/counted.ts';
import type { ErasePlan } from '../rules/erasing.ts';
import type { EventMove } from '../rules/operator-acts.ts';
import type { Queue } from '../rules/store.ts';
import type { SharedTables } from '../shared-tables.ts';
import { authorOf, type Author, type By } from './acts.ts';
import type { ExportedEvent, ExportedMark } from './transfer.ts';

// Both databases accept `$1`, `$2` … as parameters, and `CAST(… AS bigint)`. A dialect has the differences.

/** A value may be a list, for `Dialect.anyOf` and `Dialect.list`. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
}

export interface Dialect {
  readonly t: SharedTables;
  readonly keyIs: (id: string, endpoint: string, row?: string) => string;
  readonly anyOf: (column: string, parameter: string, type: 'bigint' | 'text') => string;
  /** Joins the row that has a primary key. Postgres must not plan to read the table. */
  readonly joinRow: (table: string, as: string, where: (row: string) => string) => string;
  /** A table with the column `value`. */
  readonly list: (parameter: string, type: 'bigint' | 'text') => string;
  /** The first parameters as the columns of the table `given`. */
  readonly given: (columns: Readonly<Record<string, 'bigint' | 'text'>>) => string;
  /** Pending events that are set aside, the first of each list: `endpoint`, `type` and `list`. */
  readonly aside: (limit: number) => string;
  /** Pending events that may be claimed, as `ready`, for `FROM`. */
  readonly ready: string;
  /** Joins to `events`, and more columns. `put_away_ms` is null for processed events. */
  readonly event: { readonly joins: string; readonly columns: string };
  /** Joins to `events`, and columns. In Postgres, they are null for processed events, whose attempts have the rest. */
  readonly handled: { readonly joins: string; readonly columns: string };
  /** Postgres stores U+0000 as a code, which `fromJson` reads. */
  readonly jsonObject: string;
  readonly jsonList: string;
  readonly fromJson: (json: string) => unknown;
  /** As indexes have them: dead events with bodies for `FROM`, by arrival or by death, and the `print` that groups them. */
  readonly dead: { readonly from: string; readonly inTime: string; readonly print: string };
  /** Postgres indexes hashes of long texts. */
  readonly toKey: (text: string) => string;
  readonly returningSeq: string;
  /** Locks the selected rows, if transactions run side by side. */
  readonly forUpdate: string;
  /** The clock of the database. */
  readonly now: string;
  /** `state` and `dead_reason`, after the joins of `event`. */
  readonly state: string;
  /** The same for actions: a processed event counts as in processing until its handler ends. */
  readonly stateToActOn: string;
  /** The alias of the row that has `due_ms` and `failures`. */
  readonly queued: string;
  /** The number of attempts, after the joins of `event`. */
  readonly attempts: string;
  readonly settled: string;
  /** A value: the terms of events up to this `seq` are in the index. */
  readonly indexed: string;
  /** `body` and `hash`; Postgres sends hashes, because bodies can be large. */
  readonly knownBody: string;
  readonly errorsGone: string;
  /** Columns that only one database has. */
  readonly ofImportedAttempt: (endpoint: string) => Readonly<Record<string, unknown>>;
  /** Deletes at most `limit` events of some bulks, and returns a row for each. */
  readonly clearBulks: (old: string, limit: string) => string;
}

/** The first two lists are ids and endpoints. */
export function keyedEvents({ t, given, joinRow, keyIs }: Dialect): string {
  const events = joinRow(t.events, 'events', (row) => keyIs('given.id', 'given.endpoint', row));
  return `${given({ id: 'text', endpoint: 'text' })} ${events}`;
}

/** Postgres stores times of its clock. */
export interface Clock {
  readonly toDatabase: (ms: number) => number;
  readonly toCaller: (ms: number) => number;
}

export interface Reader extends Clock {
  readonly rows: <Row>(statement: Statement) => Promise<readonly Row[]>;
}

type Awaitable<T> = T | Promise<T>;

export type Rows = <Row>(statement: Statement) => Awaitable<readonly Row[]>;

/** It may run again, so its work must change nothing else. */
export interface OperatorTransaction extends Clock {
  readonly dialect: Dialect;
  readonly counts: Counting['counts'];
  readonly rows: Rows;
  /** Writes before the commit, unless the first value is an empty list. No statement may need the rows of another. */
  readonly later: (...statements: readonly Required<Statement>[]) => void;
  /** Unlike `toDatabase`, it ignores changes of the clock while the transaction waited. */
  timeOf(time: Date): number;
  timeSlice(): TimeSlice;
  /** Keeps other transactions from moving, pruning or (with `index`) indexing these events. */
  hold(seqs: readonly number[], index?: 'index'): Awaitable<void>;
  move(moves: readonly EventMove[], now: number): Awaitable<void>;
  advance(queues: readonly Queue[], now: number): Awaitable<void>;
  prune(seqs: readonly number[]): Awaitable<void>;
  erase(tombstones: ErasePlan['tombstones'], now: number): Awaitable<void>;
  importEvents(events: readonly ExportedEvent[]): Awaitable<readonly number[]>;
  raiseMarks(marks: readonly ExportedMark[]): void;
  /** All rows have the same columns. */
  insert(
    table: 'attempts' | 'redeliveries' | 'conflicts' | 'steps',
    rows: readonly Readonly<Record<string, unknown>>[],
  ): void;
}

export interface ChangeOptions<Result> {
  /** Keeps other transactions from changing this table. */
  readonly locks?: keyof Dialect['t'];
  /** A repeated call has no effect. */
  readonly isRepeatable?: true;
  /** The times at which events become due, on the caller's clock. */
  readonly dueAt?: number;
  /** The result if an unanswered COMMIT is still running; without it, the change fails. */
  readonly whileRunning?: { readonly result: Result };
}

export type Read = <T>(work: (reader: Reader) => Promise<T>) => Promise<T>;

export interface OperatorTables {
  readonly dialect: Dialect;
  /** In SQLite, deliveries share the commit. */
  readonly bounds: {
    readonly actsAtOnce: number;
    readonly erasedEvents: number;
    readonly erasedBytes: number;
    readonly prunedBytes: number;
  };
  /** Uses one connection, and may run again. */
  read<T>(work: (reader: Reader) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Closing the inbox waits for all reads.
   *
   * @param signal - once aborted, no read begins
   */
  inSteps<T>(work: (read: Read) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Changes only once, even if the response to the COMMIT is lost. */
  change<T>(work: (tx: OperatorTransaction) => Promise<T>, options?: ChangeOptions<T>): Promise<T>;
  notify(): void;
}

export function changeAgain(tables: OperatorTables, statement: Statement): Promise<void> {
  return tables.change(
    async (tx) => {
      await tx.rows(statement);
    },
    { isRepeatable: true },
  );
}

/** @throws ConfigurationError `INVALID_OPTION` for an unknown `via`, or without an actor */
export function actingBy(by: By): (clock: Clock) => Author {
  return byTables(authorOf(by));
}

export function byTables(author: Author): (clock: Clock) => Author {
  return ({ toDatabase }) => ({ ...author, now: toDatabase(author.now) });
}
