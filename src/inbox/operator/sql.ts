/**
 * The SQL of operators stands once, for SQLite and Postgres. Both accept `$1`, `$2` … as parameters and `CAST(… AS bigint)`; a
 * dialect has the few words that differ.
 */
import { authorOf, type Author, type By } from './acts.ts';

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
  readonly keyIs: (id: string, endpoint: string) => string;
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
}

/** Converts times: the tables have those of the database if machines share it. */
export interface Clock {
  readonly toDatabase: (ms: number) => number;
  readonly toCaller: (ms: number) => number;
}

export interface Reader extends Clock {
  readonly rows: <Row>(statement: Statement) => Promise<readonly Row[]>;
}

/** A change, in one transaction: what it loads decides what it saves. Only pure functions, as it may be tried again. */
export interface Change<Result, Row> {
  /** Until the transaction ends, other transactions cannot change this table. */
  readonly locks?: keyof Dialect['t'];
  /** It does no harm if it is done twice. */
  readonly isRepeatable?: true;
  readonly load?: (clock: Clock) => readonly Statement[];
  readonly plan: (loaded: readonly (readonly Row[])[], clock: Clock) => Plan<Result>;
}

export interface Plan<Result> {
  readonly save?: readonly Statement[];
  readonly result: (saved: readonly (readonly unknown[])[]) => Result;
}

export type Read = <T>(work: (reader: Reader) => Promise<T>) => Promise<T>;

export interface OperatorTables {
  readonly dialect: Dialect;
  /** Reads from one connection. It may be tried again. */
  read<T>(work: (reader: Reader) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Does work that takes several reads. Closing the inbox waits for it.
   *
   * @param signal - once aborted, no read begins: it throws the reason
   */
  inSteps<T>(work: (read: Read) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Makes a change once, even if its answer was lost. */
  change<T, Row>(change: Change<T, Row>): Promise<T>;
  /** Adds rows in one transaction, once, even if its answer was lost. It waits for no other machine. */
  append(statements: (clock: Clock) => readonly Statement[]): Promise<void>;
  /** Tells processors that events may have become due. */
  notify(): void;
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
