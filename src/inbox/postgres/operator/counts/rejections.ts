import type { RejectedDelivery } from '../../../operator/counts.ts';
import { keptSource, KINDS_KEPT, NOTED_AT_ONCE, type NotedRejection } from '../../../rules/rejections.ts';
import { appendOnce } from '../../driver/append-once.ts';
import { BEGIN } from '../../driver/database.ts';
import { addCounts } from '../../sql/add-counts.ts';
import type { Tables } from '../../sql/tables.ts';
import type { Store } from '../../store.ts';
import type { Access } from '../access.ts';

/** Appends them, and puts alike ones together behind that: no machine waits for another, nor for one that has frozen. */
export async function noteRejected({ store, ask }: Access, rejections: readonly NotedRejection[]): Promise<void> {
  const { database, t } = store;
  for (let at = 0; at < rejections.length; at += NOTED_AT_ONCE) {
    await ask(() => noteSome(store, rejections.slice(at, at + NOTED_AT_ONCE)));
    await ask(() => database.alone((session) => session.inOneMessage([BEGIN, ...tidied(t), 'COMMIT'])));
  }
}

function noteSome({ database, t, time }: Store, rejections: readonly NotedRejection[]): Promise<void> {
  const column = (value: (rejection: NotedRejection) => unknown): unknown[] => rejections.map(value);
  return appendOnce(
    database,
    (session) => time.follow(session),
    async (session) => {
      await session.run(
        `INSERT INTO ${t.rejected} (endpoint, reason, bytes, sha256, source, count, first_ms, last_ms)
         SELECT endpoint, reason, bytes, sha256, source, sum(count), min(at), max(at)
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
           WITH ORDINALITY AS given (endpoint, reason, bytes, sha256, source, count, at, place)
         GROUP BY 1, 2, 3, 4, 5 ORDER BY min(place)`,
        [
          column(({ endpoint }) => endpoint),
          column(({ reason }) => reason),
          column(({ bytes }) => bytes),
          column(({ sha256 }) => sha256),
          column((rejection) => keptSource(rejection)),
          column(({ count }) => count),
          column(({ at }) => time.toDatabase(at)),
        ],
      );
      const counted = rejections.map(
        ({ reason, count, at }) => ({ at, what: 'rejected', detail: reason, count }) as const,
      );
      await addCounts(session, { t, time }, counted);
    },
  );
}

const KIND = 'endpoint, reason, bytes, sha256, source';

/** What is left is one row of each of the latest kinds, but for rows that another machine puts together just now. */
function tidied(t: Tables): readonly string[] {
  const taken = (kinds: string): string => `
    DELETE FROM ${t.rejected} WHERE seq = ANY(ARRAY(
      SELECT seq FROM ${t.rejected} WHERE seq = ANY(ARRAY(SELECT unnest(seqs) FROM (${kinds}) AS kinds))
      ORDER BY seq FOR UPDATE SKIP LOCKED
    ))`;
  const kinds = (which: string): string => `SELECT array_agg(seq) AS seqs FROM ${t.rejected} GROUP BY ${KIND} ${which}`;
  return [
    taken(kinds(`ORDER BY max(last_ms) DESC, min(seq) DESC OFFSET ${KINDS_KEPT}`)),
    `WITH taken AS (${taken(kinds('HAVING count(*) > 1'))} RETURNING *)
     INSERT INTO ${t.rejected} (seq, ${KIND}, count, first_ms, last_ms)
     SELECT min(seq), ${KIND}, sum(count), min(first_ms), max(last_ms) FROM taken GROUP BY ${KIND}`,
  ];
}

interface RejectedRow extends Omit<RejectedDelivery, 'firstAt' | 'lastAt'> {
  readonly first_ms: number;
  readonly last_ms: number;
}

export async function rejected({ database, t, time }: Store, limit: number): Promise<readonly RejectedDelivery[]> {
  const rows = await database.read(async (session) => {
    await time.follow(session);
    return session.rows<RejectedRow>(
      `SELECT min(seq) AS seq, ${KIND}, sum(count)::bigint AS count, min(first_ms) AS first_ms, max(last_ms) AS last_ms
       FROM ${t.rejected} GROUP BY ${KIND} ORDER BY max(last_ms) DESC, min(seq) DESC LIMIT $1`,
      [Math.min(limit, KINDS_KEPT)],
    );
  });
  const at = (ms: number): Date => new Date(time.toCaller(ms));
  return rows.map(({ first_ms: firstMs, last_ms: lastMs, ...kind }) => ({
    ...kind,
    endpoint: kind.endpoint,
    reason: kind.reason,
    sha256: kind.sha256,
    source: kind.source,
    firstAt: at(firstMs),
    lastAt: at(lastMs),
  }));
}
