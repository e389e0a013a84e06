import type { ActResult } from '../../../operator/acts.ts';
import type { BulkEngine } from '../../../rules/bulks.ts';
import { answer, asked, DONE } from '../../../rules/steps.ts';
import type { Scene } from '../../engine/scene.ts';
import { auditLines } from '../audit/audit-line.ts';
import { actEngine } from './act-engine.ts';
import { bulkRecords } from './bulk-records.ts';
import { heldBySeq, readBySeq } from './held-events.ts';

/** What is asked of a bulk in one transaction; what it writes of each event is written together. */
interface WrittenTogether extends BulkEngine {
  /** Before the commit. */
  flush(): Promise<void>;
}

/** A snapshot is filled with some of these events, as they are now. */
export async function fillingEngine(scene: Scene, id: number, seqs: readonly number[]): Promise<WrittenTogether> {
  const { session, t } = scene;
  const rows = new Map((await readBySeq(scene, seqs)).map((row) => [row.seq, row]));
  // Whoever fills the same one at the same time waits for the end of this transaction.
  await session.rows(`SELECT 1 FROM ${t.bulks} WHERE id = $1 FOR UPDATE`, [id]);
  const there = await session.rows<{ seq: number }>(
    `SELECT seq FROM ${t.bulk_events} WHERE bulk = $1 AND seq = ANY($2::bigint[])`,
    [id, seqs],
  );
  const known = new Set(there.map(({ seq }) => seq));
  const added: number[] = [];
  return {
    ...(await runningEngine(scene, id, 0)),
    acted: (event) => answer((typeof event === 'number' ? rows.get(event) : undefined) ?? null),
    addToSnapshot(_, seq) {
      if (known.has(seq)) return answer(false);
      known.add(seq);
      added.push(seq);
      return answer(true);
    },
    async flush() {
      const text = `INSERT INTO ${t.bulk_events} (bulk, seq) SELECT $1, unnest($2::bigint[])`;
      if (added.length > 0) await session.run(text, [id, added]);
    },
  };
}

/**
 * A bulk is run, or ended.
 *
 * @param limit - so many events are worked at most; they are held from now on
 */
export async function runningEngine(scene: Scene, id: number, limit: number): Promise<WrittenTogether> {
  const { session, t } = scene;
  const records = bulkRecords(scene);
  // Of two machines one waits here for the other's batch.
  await session.rows(`SELECT 1 FROM ${t.bulks} WHERE id = $1 FOR UPDATE`, [id]);
  let ahead: readonly number[] | undefined = limit === 0 ? [] : await open(limit);
  const acts = actEngine(scene, ahead.length === 0 ? [] : await heldBySeq(scene, ahead));
  const results = new Map<ActResult, number[]>();

  async function open(most: number): Promise<readonly number[]> {
    // What has a result already leaves dead entries in the index, which may be there for as long as somebody else reads.
    const text = `
      SELECT seq FROM ${t.bulk_events}
      WHERE bulk = $1 AND result IS NULL AND seq > (SELECT reached FROM ${t.bulks} WHERE id = $1) ORDER BY seq LIMIT $2`;
    const rows = await session.rows<{ seq: number }>(text, [id, most]);
    return rows.map(({ seq }) => seq);
  }

  async function flush(): Promise<void> {
    const text = `UPDATE ${t.bulk_events} SET result = $2 WHERE bulk = $1 AND seq = ANY($3::bigint[])`;
    const noting = Array.from(results, ([result, seqs]) => session.run(text, [id, result, seqs]));
    const reached = Math.max(0, ...Array.from(results.values(), (seqs) => seqs.at(-1) ?? 0));
    if (reached > 0) noting.push(session.run(`UPDATE ${t.bulks} SET reached = $2 WHERE id = $1`, [id, reached]));
    results.clear();
    await Promise.all([acts.flush(), ...noting]);
  }

  return {
    ...acts,
    ...auditLines(scene),
    ...records,
    openEvents(_, most) {
      const known = ahead;
      ahead = undefined;
      return known === undefined ? asked(flush().then(() => open(most))) : answer(known);
    },
    noteResult(_, seq, result) {
      const seqs = results.get(result) ?? [];
      results.set(result, seqs);
      seqs.push(seq);
      return DONE;
    },
    addToSnapshot: () => answer(false), // only while it is filled
    flush,
  };
}
