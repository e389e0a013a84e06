import type { KeptAct, KeptActs } from '../../../operator/hide-in-acts.ts';
import type { Access } from '../access.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { securely } from './secure-deletion.ts';

/** By what the rows are told apart. */
const KINDS = [
  { table: 'hookbox_audit', key: 'seq' },
  { table: 'hookbox_bulks', key: 'id' },
] as const;

/** Where operators' acts are kept in a file. */
export function keptActs(access: Access): KeptActs {
  const kindOf = (at: number) => KINDS[at] ?? KINDS[0];
  return {
    kinds: KINDS.length,
    inOrder: true,
    page(kind, behind, limit) {
      const { table, key } = kindOf(kind);
      const sql = `SELECT ${key} AS key, filter, reason FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${limit}`;
      return statement(access.database(), sql).all(behind) as KeptAct[];
    },
    async write(kind, acts) {
      const { table, key } = kindOf(kind);
      // Also lets deliveries have their turn.
      await access.write(({ database }) => {
        if (acts.length === 0) return;
        const update = statement(
          database,
          `UPDATE ${table} SET filter = :filter, reason = :reason WHERE ${key} = :key`,
        );
        securely(database, () => {
          for (const act of acts) update.run(act);
        });
      });
    },
  };
}
