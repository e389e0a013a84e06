import type { Access } from '../access.ts';

/** Seldom there is any: it is looked for before anything is locked. */
export async function clearErased({ store: { database, t, moves }, ask }: Access, limit: number): Promise<number> {
  const text = `
    SELECT seq FROM ${t.events} WHERE body IS NULL AND NOT cleared AND erased_ms IS NOT NULL ORDER BY seq LIMIT $1`;
  return ask(async () => {
    const found = await database.read((session) => session.rows<{ seq: number }>(text, [limit]));
    if (found.length === 0) return 0;
    const seqs = found.map(({ seq }) => seq);
    await database.transaction({
      async work(session) {
        await session.run(
          `UPDATE ${t.attempts} SET skipped = NULL WHERE seq = ANY($1::bigint[]) AND skipped IS NOT NULL`,
          [seqs],
        );
        await session.run(moves.clear, [seqs]);
      },
    });
    return found.length;
  });
}
