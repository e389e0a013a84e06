import type { EntityOf } from '../../../../events/entity.ts';
import type { ActResult, Author } from '../../../operator/acts.ts';
import { batchWrites, bulkIn, heldBulk, startLine, type BulkEngine } from '../../../operator/bulks.ts';
import type { Statement } from '../../../operator/sql.ts';
import { bodiesToRead, nextBatch, planActs, type Acting, type ActsPlan, type EventMove } from '../../../rules/acts.ts';
import { actingOf, hasEnded, type BulkStep } from '../../../rules/bulks.ts';
import type { DatabaseTime } from '../../database-time.ts';
import type { Scene } from '../../engine/scene.ts';
import { timeSlice } from '../../engine/time-slice.ts';
import type { Access } from '../access.ts';
import { doneOnce } from '../done-once.ts';
import { postgres } from '../operator-tables.ts';
import { saveMoves, writeTogether } from './act-on-events.ts';
import { heldBySeq, readBodies } from './held-events.ts';

/** So many bodies are read at once. */
const BATCH = 100;

export function bulkEngine({ store, ask }: Access): BulkEngine {
  const { t, time, scene, writeAt } = store;
  return {
    advance(id, limit, author, entity) {
      const times = time.asked();
      return ask(() =>
        doneOnce(store, {
          before: (session) => writeAt(session, author.now, times),
          work: (session) => {
            const by = { ...author, now: times.toDatabase(author.now) };
            return advance(scene(session), time, id, limit, by, entity);
          },
        }),
      );
    },
    clear: (old, limit) => `
      DELETE FROM ${t.bulk_events} WHERE ctid = ANY(ARRAY(
        SELECT old.ctid FROM ${t.bulks} AS bulks CROSS JOIN LATERAL (
          SELECT ctid FROM ${t.bulk_events} AS events WHERE events.bulk = bulks.id LIMIT ${limit}
        ) AS old
        WHERE ${old} LIMIT ${limit}
      )) RETURNING seq`,
  };
}

async function advance(
  scene: Scene,
  time: DatabaseTime,
  id: number,
  limit: number,
  author: Author,
  entity: EntityOf | undefined,
): Promise<BulkStep> {
  const { session, t } = scene;
  const dialect = postgres(t);
  const ask = ({ text, values = [] }: Statement) => session.rows<{ seq: number }>(text, values);
  const held = await ask(heldBulk(dialect, id));
  const bulk = bulkIn(held);
  if (bulk === null || hasEnded(bulk)) return { bulk: bulkIn(held, time), moved: false };
  const audit = bulk.audit ?? (await ask(startLine(dialect, bulk, author)))[0]?.seq ?? 0;
  // What has a result already leaves dead entries in the index, which may be there for as long as somebody else reads.
  const text = `
    SELECT seq FROM ${t.bulk_events}
    WHERE bulk = $1 AND result IS NULL AND seq > (SELECT reached FROM ${t.bulks} WHERE id = $1) ORDER BY seq LIMIT $2`;
  const open = (await ask({ text, values: [id, limit + 1] })).map(({ seq }) => seq);
  const { results, moves } = await act(scene, open.slice(0, limit), actingOf(bulk, author, entity));
  const advancing = await saveMoves(scene, moves, author.now);
  const reached = { text: ', reached = greatest(reached, $10)', values: [open[results.length - 1] ?? 0] };
  const { save, notes } = batchWrites(dialect, { bulk, audit, author, open, results, moves }, reached);
  const saved = await ask(save);
  await writeTogether(scene, [...advancing, ...notes]);
  return { bulk: bulkIn(saved, time), moved: results.includes('done') };
}

/** Decides about the first of these events; all are held. */
async function act(scene: Scene, seqs: readonly number[], acting: Acting): Promise<ActsPlan> {
  const rows = await heldBySeq(scene, seqs);
  const slice = timeSlice();
  const results: ActResult[] = [];
  const moves: EventMove[] = [];
  while (results.length < rows.length) {
    const batch = nextBatch(rows.slice(results.length), BATCH);
    const plan = planActs(batch, await readBodies(scene, bodiesToRead(batch, acting)), acting, slice);
    results.push(...plan.results);
    moves.push(...plan.moves);
    if (slice.isOver()) break;
  }
  return { results, moves };
}
