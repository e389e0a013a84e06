import type { SandboxClock } from './clock.ts';

/** The caller names the columns, so only the caller knows the type of a row. */
export interface Reading {
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- only the caller knows the columns
  get<Row = unknown>(sql: string, ...parameters: readonly unknown[]): Row | undefined;
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as above
  all<Row = unknown>(sql: string, ...parameters: readonly unknown[]): readonly Row[];
}

/** Commits a change, its events and their deliveries together, or none of them. */
export interface Transaction extends Reading {
  /** The time of everything in this transaction. */
  readonly now: number;
  /** @returns the number of changed rows */
  run(sql: string, ...parameters: readonly unknown[]): number;
  /** The same seed and the same calls give the same ids. */
  newId(prefix: string): string;
}

export interface Store extends Reading {
  readonly clock: SandboxClock;
  readonly seed: number;
  readonly isOld: boolean;
  write<T>(work: (transaction: Transaction) => T extends PromiseLike<unknown> ? never : T): T;
  onCommit(listener: () => void): void;
  close(): void;
}

/** By the names of the columns, because many values in a row are easily mixed up. */
export function insert(
  tx: Transaction,
  table: string,
  row: Readonly<Record<string, string | number | Uint8Array | null>>,
): void {
  const columns = Object.keys(row);
  const marks = columns.map(() => '?').join(', ');
  tx.run(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`, ...Object.values(row));
}

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

export function whereAll<Value>(conditions: Readonly<Record<string, Value | undefined>>): {
  readonly where: string;
  readonly values: readonly Value[];
} {
  const given = Object.entries(conditions).filter((entry): entry is [string, Value] => entry[1] !== undefined);
  const where = given.length === 0 ? '' : `WHERE ${given.map(([condition]) => condition).join(' AND ')}`;
  return { where, values: given.map(([, value]) => value) };
}
