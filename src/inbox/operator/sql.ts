import type { TimeSlice } from '../rules/budget.ts';
import type { Counting } from '../rules/counted.ts';
import type { ErasePlan } from '../rules/erasing.ts';
import type { EventMove } from '../rules/operator-acts.ts';
import type { Queue } from '../rules/store.ts';
import { authorOf, type Author, type By } from './acts.ts';
import type { ExportedEvent, ExportedMark } from './transfer.ts';

// SQLite and Postgres both accept `$1`, `$2` … as parameters and `CAST(… AS bigint)`; a dialect has the words that differ.

/** One statement, with a value for each parameter. A list is a value too, for `Dialect.anyOf` and `Dialect.list`. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
}

export const sharedTables = [
  'events',
  'attempts',
  'entities',
  'audit',
  'event_acts',
  'counts',
  'count_sums',
  'rejected',
  'marks',
  'pauses',
  'terms',
  'progress',
  'redeliveries',
  'conflicts',
  'bulks',
  'bulk_events',
  'imported',
] as const;

export interface Dialect {
  readonly t: Readonly<Record<(typeof sharedTables)[number], string>>;
  readonly keyIs: (id: string, endpoint: string, row?: string) => string;
  /** Whether a column has one of the values of a list. */
  readonly anyOf: (column: string, parameter: string, type: 'bigint' | 'text') => string;
  /** Joins a row, if there is one, found by its primary key. The planner of Postgres must not go through the table. */
  readonly joinRow: (table: string, as: string, where: (row: string) => string) => string;
  /** The values of a list as a table with the column `value`. */
  readonly list: (parameter: string, type: 'bigint' | 'text') => string;
  /** Lists side by side, the first parameters, as the table `given`. */
  readonly given: (columns: Readonly<Record<string, 'bigint' | 'text'>>) => string;
  /** Pending events that are set aside, the first of each list: `endpoint`, `type`, and which `list` it is. */
  readonly aside: (limit: number) => string;
  /** Pending events that may be claimed, for `FROM`: `ready`, with `endpoint` and `type`. */
  readonly ready: string;
  /**
   * The joins to `events`, and the columns `state`, `dead_reason`, `settled_ms`, `due_ms`, `attempts`, `failures`,
   * `fingerprint` and `put_away_ms` beside `events.*`. `put_away_ms` is null for processed events.
   */
  readonly event: { readonly joins: string; readonly columns: string };
  /**
   * How events were handled: joins, and the columns `due_ms`, `settled_ms`, `begun`, `failures`, `crashes`, `trigger`,
   * `fingerprint` and `yields`. Postgres has nulls where an event was processed; its attempts have the rest.
   */
  readonly handled: { readonly joins: string; readonly columns: string };
  /** The functions that make JSON of columns and of rows, and one that reads it. Postgres has texts in a code of ours. */
  readonly jsonObject: string;
  readonly jsonList: string;
  readonly fromJson: (json: string) => unknown;
  /** Dead events with bodies as an index has them, for `FROM`, and the `print` by which they are grouped. */
  readonly dead: { readonly from: string; readonly print: string };
  /** A text as an index has it: Postgres has only hashes of long ones. */
  readonly toKey: (text: string) => string;
  /** For an INSERT, whose row then has the `seq`. In SQLite, RETURNING would go through each table that refers to this one. */
  readonly returningSeq: string;
  /** Locks the rows that are read, where transactions run side by side. */
  readonly forUpdate: string;
  /** The time of the server, where there is one. */
  readonly now: string;
  /** The columns `state` and `dead_reason`, behind the joins of `event`. */
  readonly state: string;
  /** The same columns for actions: an event whose handler still runs is in processing, though it may be processed. */
  readonly stateToActOn: string;
  /** The alias of the row that has `due_ms` and `failures`. */
  readonly queued: string;
  /** When an event was settled, for pruning. */
  readonly settled: string;
  /** A value: the terms of events up to this `seq` are in the index. */
  readonly indexed: string;
  /** The columns `body` and `hash` of `events`, to compare bodies: Postgres sends hashes, because bodies can be large. */
  readonly knownBody: string;
  /** Assignments that take the texts of errors from an attempt. */
  readonly errorsGone: string;
  /** The columns of an imported attempt that only this database has. */
  readonly ofImportedAttempt: (endpoint: string) => Readonly<Record<string, unknown>>;
  /** Deletes at most `limit` events of the snapshots of some bulks, and returns a row for each. */
  readonly clearBulks: (old: string, limit: string) => string;
}

/** Events by their keys, whose ids and endpoints are the first two lists. */
export function keyedEvents({ t, given, joinRow, keyIs }: Dialect): string {
  const events = joinRow(t.events, 'events', (row) => keyIs('given.id', 'given.endpoint', row));
  return `${given({ id: 'text', endpoint: 'text' })} ${events}`;
}

/** Converts times: the tables have those of the database if machines share it. */
export interface Clock {
  readonly toDatabase: (ms: number) => number;
  readonly toCaller: (ms: number) => number;
}

export interface Reader extends Clock {
  readonly rows: <Row>(statement: Statement) => Promise<readonly Row[]>;
}

type Awaitable<T> = T | Promise<T>;

export type Rows = <Row>(statement: Statement) => Awaitable<readonly Row[]>;

/** Work that is written once: SQLite runs it in one turn, and Postgres awaits each promise that it yields. */
export type Steps<T> = Generator<unknown, T, unknown>;

export function* wait<T>(value: Awaitable<T>): Steps<T> {
  return (yield value) as T; // the runners send what it has become
}

export function runAtOnce<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (step.done !== true) step = steps.next(step.value);
  return step.value;
}

export async function runInTurns<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next();
  while (step.done !== true) step = steps.next(await step.value);
  return step.value;
}

/** One transaction. It may be tried again, so its work changes nothing else. */
export interface OperatorTransaction extends Clock {
  readonly dialect: Dialect;
  readonly counts: Counting['counts'];
  readonly rows: Rows;
  /** Writes before the commit. No statement needs another one's rows; an empty list as first value skips it. */
  readonly later: (...statements: readonly Required<Statement>[]) => void;
  /** A time in the tables. `toDatabase` adds the wait for this transaction in which the clock was set. */
  timeOf(time: Date): number;
  timeSlice(): TimeSlice;
  /** Until the transaction ends, no other one moves or prunes these events, or indexes them if `index` says so. */
  hold(seqs: readonly number[], index?: 'index'): Awaitable<void>;
  move(moves: readonly EventMove[], now: number): Awaitable<void>;
  /** Lets the next events of these queues be claimed. */
  advance(queues: readonly Queue[], now: number): Awaitable<void>;
  prune(seqs: readonly number[]): Awaitable<void>;
  erase(tombstones: ErasePlan['tombstones'], now: number): Awaitable<void>;
  /** Stores new events, and returns their numbers. */
  importEvents(events: readonly ExportedEvent[]): Awaitable<readonly number[]>;
  raiseMarks(marks: readonly ExportedMark[]): void;
  /** Inserts rows that have the same columns. */
  insert(table: 'attempts' | 'redeliveries' | 'conflicts', rows: readonly Readonly<Record<string, unknown>>[]): void;
}

export interface ChangeOptions<Result> {
  /** Until the transaction ends, other transactions cannot change this table. */
  readonly locks?: keyof Dialect['t'];
  /** It does no harm if it is done twice. */
  readonly isRepeatable?: true;
  /** When events become due by it, on the caller's clock. */
  readonly dueAt?: number;
  /** The result if its COMMIT was not answered and still runs; without it, that is an error. */
  readonly whileRunning?: { readonly result: Result };
}

export type Read = <T>(work: (reader: Reader) => Promise<T>) => Promise<T>;

export interface OperatorTables {
  readonly dialect: Dialect;
  /** How much one transaction does. In SQLite, deliveries share its commit. */
  readonly bounds: {
    readonly actsAtOnce: number;
    readonly erasedEvents: number;
    readonly erasedBytes: number;
    readonly prunedBytes: number;
  };
  /** Reads from one connection. It may be tried again. */
  read<T>(work: (reader: Reader) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Does work that takes several reads. Closing the inbox waits for it.
   *
   * @param signal - once aborted, no read begins: it throws the reason
   */
  inSteps<T>(work: (read: Read) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Makes a change once, even if its answer was lost. */
  change<T>(work: (tx: OperatorTransaction) => Steps<T>, options?: ChangeOptions<T>): Promise<T>;
  /** Tells processors that events may have become due. */
  notify(): void;
}

/** Makes a change that does no harm if it is made twice. */
export function changeAgain(tables: OperatorTables, statement: Statement): Promise<void> {
  return tables.change(
    function* (tx) {
      yield* wait(tx.rows(statement));
    },
    { isRepeatable: true },
  );
}

/**
 * The author of an action, with the time by the clock of the tables.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an unknown `via`, or without an actor
 */
export function actingBy(by: By): (clock: Clock) => Author {
  return byTables(authorOf(by));
}

export function byTables(author: Author): (clock: Clock) => Author {
  return ({ toDatabase }) => ({ ...author, now: toDatabase(author.now) });
}
