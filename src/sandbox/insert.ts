import type { Transaction } from './store.ts';

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
