import type { KeptAct, KeptActs } from '../../../operator/hide-in-acts.ts';
import type { EndpointType } from '../../../operator/pauses.ts';
import { fromText, textOrNull, toText } from '../../driver/values.ts';
import type { Access } from '../access.ts';

/** Where operators' actions are kept in a schema. */
export function keptActs({ store, ask }: Access): KeptActs {
  const { database, t } = store;
  const kinds = [
    { table: t.audit, key: 'seq' },
    { table: t.bulks, key: 'id' },
  ] as const;
  const kindOf = (at: number) => kinds[at] ?? kinds[0];
  return {
    kinds: kinds.length,
    // They are numbered before they are committed.
    inOrder: false,
    async page(kind, behind, limit) {
      const { table, key } = kindOf(kind);
      const text = `SELECT ${key} AS key, filter, reason FROM ${table} WHERE ${key} > $1 ORDER BY ${key} LIMIT $2`;
      const rows = await ask(() => database.read((session) => session.rows<KeptAct>(text, [behind, limit])));
      return rows.map((row) => ({ ...row, reason: row.reason === null ? null : fromText(row.reason) }));
    },
    async write(kind, acts) {
      if (acts.length === 0) return;
      const { table, key } = kindOf(kind);
      const text = `UPDATE ${table} SET filter = $2, reason = $3 WHERE ${key} = $1`;
      await ask(() =>
        database.transaction({
          async work(session) {
            await Promise.all(acts.map((act) => session.run(text, [act.key, act.filter, textOrNull(act.reason)])));
          },
        }),
      );
    },
    async rewritePauses(rewritten) {
      await ask(() =>
        database.transaction({
          async work(session) {
            const paused = await session.rows<PausedRow>(
              `SELECT endpoint, type, reason FROM ${t.pauses} WHERE reason IS NOT NULL FOR UPDATE`,
              [],
            );
            for (const { endpoint, type, reason: stored } of paused) {
              const before = fromText(stored);
              const reason = rewritten(before);
              if (reason === before) continue;
              const text = `UPDATE ${t.pauses} SET reason = $3 WHERE endpoint = $1 AND type = $2`;
              await session.run(text, [endpoint, type, toText(reason)]);
            }
          },
        }),
      );
    },
  };
}

/** Texts as they are stored. */
interface PausedRow extends EndpointType {
  readonly reason: string;
}
