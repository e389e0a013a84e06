import type { SqliteDatabase } from '../../opening/database.ts';
import type { Access } from '../access.ts';
import type { ErasedNames } from '../../../rules/erased-names.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { securely } from './secure-deletion.ts';

/** Where operators' acts are kept with what they were about, and by what their rows are told apart. */
const KEPT = [
  { table: 'hookbox_audit', key: 'seq' },
  { table: 'hookbox_bulks', key: 'id' },
] as const;
/** Few enough to be read between two deliveries. */
const PAGE = 100;

interface KeptRow {
  readonly key: number;
  readonly filter: string;
  readonly reason: string | null;
}

/** How far `hideInActs` has come in each table. */
export type HiddenUpTo = readonly number[];

/**
 * Replaces erased names in what is kept of operators' acts.
 *
 * @param from - where an earlier pass has ended
 * @returns where this one has ended
 */
export async function hideInActs(access: Access, names: ErasedNames, from: HiddenUpTo = []): Promise<HiddenUpTo> {
  const ends: number[] = [];
  for (const [index, { table, key }] of KEPT.entries()) {
    let after = from[index] ?? 0;
    for (;;) {
      const rows = statement(
        access.database(),
        `SELECT ${key} AS key, filter, reason FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${PAGE}`,
      ).all(after) as KeptRow[];
      const hidden = rows.flatMap((row) => hiddenRow(row, names));
      // Also lets deliveries have their turn.
      await access.write(({ database }) => {
        if (hidden.length > 0) securely(database, () => writeHidden(database, table, key, hidden));
      });
      after = rows.at(-1)?.key ?? after;
      if (rows.length < PAGE) break;
    }
    ends.push(after);
  }
  return ends;
}

/** None when nothing had to be hidden. */
function hiddenRow({ key, ...row }: KeptRow, names: ErasedNames): KeptRow[] {
  const filter = JSON.stringify(names.hideInAll(JSON.parse(row.filter)));
  const reason = names.hideInReason(row.reason);
  return filter === row.filter && reason === row.reason ? [] : [{ key, filter, reason }];
}

function writeHidden(database: SqliteDatabase, table: string, key: string, rows: readonly KeptRow[]): void {
  const update = statement(database, `UPDATE ${table} SET filter = :filter, reason = :reason WHERE ${key} = :key`);
  for (const row of rows) update.run(row);
}
