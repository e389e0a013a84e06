import type { SandboxClock } from './clock.ts';

/** Reads rows. The caller names the columns, so the caller says what a row looks like. */
export interface Reading {
  /** Returns the first row. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- only the caller knows the columns
  get<Row = unknown>(sql: string, ...parameters: readonly unknown[]): Row | undefined;
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as above
  all<Row = unknown>(sql: string, ...parameters: readonly unknown[]): readonly Row[];
}

/** An open transaction. It commits a change, its events and their deliveries together, or none of them. */
export interface Transaction extends Reading {
  /** the time of everything in this transaction, in milliseconds since 1970 */
  readonly now: number;
  /** @returns how many rows were changed */
  run(sql: string, ...parameters: readonly unknown[]): number;
  /** Returns a unique id such as `ord_8sK…`. The same seed and the same calls give the same ids. */
  newId(prefix: string): string;
}

/** The state of a sandbox, in a file of its own or in memory. */
export interface Store extends Reading {
  readonly clock: SandboxClock;
  /** makes ids and faults repeatable */
  readonly seed: number;
  /** `true` for the store of an existing file */
  readonly isOld: boolean;
  /** Commits one transaction. An error that `work` throws rolls it back. */
  write<T>(work: (transaction: Transaction) => T extends PromiseLike<unknown> ? never : T): T;
  onCommit(listener: () => void): void;
  close(): void;
}

/** Inserts a row by the names of its columns: many values in a row are easily mixed up. */
export function insert(
  tx: Transaction,
  table: string,
  row: Readonly<Record<string, string | number | Uint8Array | null>>,
): void {
  const columns = Object.keys(row);
  const marks = columns.map(() => '?').join(', ');
  tx.run(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`, ...Object.values(row));
}

/** Counts rows by the value of a column; a value of `none` without rows counts 0. */
export function countBy<Value extends string>(
  db: Reading,
  table: string,
  column: string,
  none: Readonly<Record<Value, number>>,
): Readonly<Record<Value, number>> {
  const rows = db.all<{ readonly value: string; readonly n: number }>(
    `SELECT ${column} AS value, count(*) AS n FROM ${table} GROUP BY ${column}`,
  );
  return { ...none, ...Object.fromEntries(rows.map(({ value, n }) => [value, n])) };
}

/** Builds a WHERE clause of the conditions that have a value. */
export function whereAll<Value>(conditions: Readonly<Record<string, Value | undefined>>): {
  readonly where: string;
  readonly values: readonly Value[];
} {
  const given = Object.entries(conditions).filter((entry): entry is [string, Value] => entry[1] !== undefined);
  const where = given.length === 0 ? '' : `WHERE ${given.map(([condition]) => condition).join(' AND ')}`;
  return { where, values: given.map(([, value]) => value) };
}
