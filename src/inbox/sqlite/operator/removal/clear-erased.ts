import { statement } from '../../sql/prepared-statement.ts';
import type { Access } from '../access.ts';
import { securely } from './secure-deletion.ts';

/** Seldom there is any: it is looked for before anybody waits for the lock. */
export async function clearErased(access: Access, limit: number): Promise<number> {
  const found = statement(
    access.database(),
    `SELECT seq FROM hookbox_events INDEXED BY hookbox_events_uncleared
     WHERE body IS NULL AND cleared = 0 AND erased_ms IS NOT NULL AND seq > 0 ORDER BY seq LIMIT +?`,
  ).all(limit) as { readonly seq: number }[];
  if (found.length === 0) return 0;
  await access.write(({ database, moves }) =>
    securely(database, () => {
      const skipped = statement(
        database,
        'UPDATE hookbox_attempts SET skipped = NULL WHERE seq = ? AND skipped IS NOT NULL',
      );
      for (const { seq } of found) {
        skipped.run(seq);
        moves.clear.run({ seq });
      }
    }),
  );
  return found.length;
}
