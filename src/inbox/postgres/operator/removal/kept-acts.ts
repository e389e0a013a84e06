import type { KeptAct, KeptActs } from '../../../operator/hide-in-acts.ts';
import type { EndpointType } from '../../../rules/pauses.ts';
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
      return rows;
    },
    async write(kind, acts) {
      if (acts.length === 0) return;
      const { table, key } = kindOf(kind);
      const text = `
        UPDATE ${table} AS kept SET filter = given.filter, reason = given.reason
        FROM unnest($1::bigint[], $2::text[], $3::text[]) AS given (key, filter, reason)
        WHERE kept.${key} = ANY($1::bigint[]) AND kept.${key} = given.key`;
      const values = [acts.map((act) => act.key), acts.map((act) => act.filter), acts.map((act) => act.reason)];
      await ask(() => database.transaction({ work: (session) => session.run(text, values) }));
    },
    async rewritePauses(rewritten) {
      await ask(() =>
        database.transaction({
          async work(session) {
            const paused = await session.rows<PausedRow>(
              `SELECT endpoint, type, reason FROM ${t.pauses} WHERE reason IS NOT NULL FOR UPDATE`,
              [],
            );
            const changed = paused
              .map((pause) => ({ ...pause, reason: rewritten(pause.reason), before: pause.reason }))
              .filter(({ reason, before }) => reason !== before);
            if (changed.length === 0) return;
            await session.run(
              `UPDATE ${t.pauses} AS paused SET reason = given.reason
               FROM unnest($1::text[], $2::text[], $3::text[]) AS given (endpoint, type, reason)
               WHERE paused.endpoint = ANY($1::text[]) AND paused.endpoint = given.endpoint AND paused.type = given.type`,
              [
                changed.map(({ endpoint }) => endpoint),
                changed.map(({ type }) => type),
                changed.map(({ reason }) => reason),
              ],
            );
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
