import type { KeptAct, KeptActs } from '../../../operator/hide-in-acts.ts';
import type { EndpointType } from '../../../rules/pauses.ts';
import type { Access } from '../access.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { securely } from './secure-deletion.ts';

/** By what the rows are told apart. */
const KINDS = [
  { table: 'hookbox_audit', key: 'seq' },
  { table: 'hookbox_bulks', key: 'id' },
] as const;

/** Where operators' actions are kept in a file. */
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
    async rewritePauses(rewritten) {
      await access.write(({ database }) => {
        const update = statement(
          database,
          'UPDATE hookbox_pauses SET reason = :reason WHERE endpoint = :endpoint AND type = :type',
        );
        const paused = statement(
          database,
          'SELECT endpoint, type, reason FROM hookbox_pauses WHERE reason IS NOT NULL',
        ).all() as readonly (EndpointType & { readonly reason: string })[];
        securely(database, () => {
          for (const pause of paused) {
            const reason = rewritten(pause.reason);
            if (reason !== pause.reason) update.run({ ...pause, reason });
          }
        });
      });
    },
  };
}
