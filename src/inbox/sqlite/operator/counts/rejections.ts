import type { RejectedDelivery } from '../../../operator/counts.ts';
import { keptSource, KINDS_KEPT, NOTED_AT_ONCE, type NotedRejection } from '../../../rules/rejections.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import type { Access } from '../access.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { addCount } from '../../sql/add-count.ts';

export async function noteRejected(access: Access, rejections: readonly NotedRejection[]): Promise<void> {
  for (let at = 0; at < rejections.length; at += NOTED_AT_ONCE) {
    const some = rejections.slice(at, at + NOTED_AT_ONCE);
    await access.write(({ database }) => noteSome(database, some));
  }
}

function noteSome(database: SqliteDatabase, rejections: readonly NotedRejection[]): void {
  const note = statement(
    database,
    `INSERT INTO hookbox_rejected (endpoint, reason, bytes, sha256, source, count, first_ms, last_ms)
     VALUES (:endpoint, :reason, :bytes, :sha256, :source, :count, :at, :at)
     ON CONFLICT (endpoint, reason, ifnull(sha256, ''), ifnull(source, ''), ifnull(bytes, -1)) DO UPDATE
     SET count = count + excluded.count,
         first_ms = min(first_ms, excluded.first_ms), last_ms = max(last_ms, excluded.last_ms)`,
  );
  for (const rejection of rejections) {
    const { endpoint, reason, bytes, sha256, count, at } = rejection;
    note.run({ endpoint, reason, bytes, sha256, source: keptSource(rejection), count, at });
    addCount(database, { at, what: 'rejected', detail: reason, count });
  }
  statement(
    database,
    `DELETE FROM hookbox_rejected WHERE seq IN (
       SELECT seq FROM hookbox_rejected ORDER BY last_ms, seq
       LIMIT max(0, (SELECT count(*) FROM hookbox_rejected) - ${KINDS_KEPT})
     )`,
  ).run();
}

export function rejected(database: SqliteDatabase, limit: number): RejectedDelivery[] {
  const found = statement(database, 'SELECT * FROM hookbox_rejected ORDER BY last_ms DESC, seq DESC LIMIT +?').all(
    limit,
  );
  return found.map((row) => {
    const { first_ms, last_ms, ...kind } = row as Omit<RejectedDelivery, 'firstAt' | 'lastAt'> & {
      readonly first_ms: number;
      readonly last_ms: number;
    }; // the columns of the table
    return { ...kind, firstAt: new Date(first_ms), lastAt: new Date(last_ms) };
  });
}
