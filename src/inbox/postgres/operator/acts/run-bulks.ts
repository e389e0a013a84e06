import type { EntityOf } from '../../../../events/entity.ts';
import { positiveWhole } from '../../../../number-option.ts';
import type { ActResult, Acts, StoredBulk } from '../../../operator/acts.ts';
import { authorOf } from '../../../operator/author.ts';
import type { OutcomePart } from '../../../operator/bulk-outcome.ts';
import { breakdownOf, bulkOf, filterOf, type BulkRow } from '../../../operator/bulk-record.ts';
import { assertFilter } from '../../../operator/check-filter.ts';
import { pageBounds } from '../../../operator/page-bounds.ts';
import {
  bodiesToRead,
  nextBatch,
  planActs,
  type Acting,
  type ActsPlan,
  type EventMove,
} from '../../../rules/act-on-events.ts';
import type { Author } from '../../../operator/author.ts';
import { changedBy, outcomeOf, type AlikeEvents, type WorkedEvent } from '../../../rules/bulk-outcome.ts';
import {
  actingOf,
  CLEARED_AT_ONCE,
  hasEnded,
  MOST_AT_ONCE,
  MOST_CLEARINGS,
  notFilling,
  oldBulks,
  planProgress,
  planSnapshot,
  planStart,
  refuseTooMany,
  unknownBulk,
  type BulkStep,
  type FillingBulk,
} from '../../../rules/bulks.ts';
import type { Session } from '../../driver/session.ts';
import type { Scene } from '../../engine/scene.ts';
import { timeSlice } from '../../engine/time-slice.ts';
import { places, STATE } from '../../sql/records.ts';
import { rowOf, type Tables } from '../../sql/tables.ts';
import type { Access } from '../access.ts';
import { actedEvents, recountedLine } from '../../../operator/audit.ts';
import { addAuditLine } from '../audit-line.ts';
import { postgres } from '../operator-tables.ts';
import { doneOnce } from '../done-once.ts';
import { saveMoves, seqsOf, writeTogether } from './act-on-events.ts';
import { heldBySeq, readBodies, readBySeq } from './held-events.ts';

type Place = Pick<Scene, 'session' | 't'>;

/** So many bodies are read at once. */
const BATCH = 100;

/** Acts on snapshots. */
export function bulks({ store, ask, notify }: Access): Omit<Acts, 'act'> {
  const { database, t, time, scene, writeAt } = store;
  const follow = (session: Session) => time.follow(session);
  const inDatabase = (author: Author): Author => ({ ...author, now: time.toDatabase(author.now) });
  const shift = (at: Date | null): Date | null => at && new Date(time.toCaller(at.getTime()));
  const toCaller = (bulk: StoredBulk): StoredBulk => ({
    ...bulk,
    createdAt: new Date(time.toCaller(bulk.createdAt.getTime())),
    startedAt: shift(bulk.startedAt),
    endedAt: shift(bulk.endedAt),
  });

  async function clearOldBulks(author: Author): Promise<void> {
    for (let clearings = 0; clearings < MOST_CLEARINGS; clearings += 1) {
      const cleared = await database.transaction({
        before: follow,
        work: (session) => clearSome({ session, t }, time.toDatabase(author.now), clearings === 0),
      });
      if (cleared < CLEARED_AT_ONCE) return;
    }
  }

  return {
    async createBulk(act, filter, by, force) {
      const author = authorOf(by);
      assertFilter(filter);
      await ask(() => clearOldBulks(author));
      return ask(() =>
        doneOnce(store, {
          async work(session) {
            const { actor, reason, now } = inDatabase(author);
            const row = await session.row<{ id: number }>(
              `INSERT INTO ${t.bulks} (act, state, force, filter, actor, reason, created_ms)
               VALUES ($1, 'filling', $2, $3, $4, $5, $6) RETURNING id`,
              [act, force, JSON.stringify(filter), actor, reason, now],
            );
            return row?.id ?? 0;
          },
        }),
      );
    },

    async addToBulk(id, seqs) {
      refuseTooMany(seqs);
      const isFilling = await ask(() =>
        doneOnce(store, { work: (session) => addToSnapshot({ session, t }, id, seqs) }),
      );
      if (!isFilling) throw notFilling(id);
    },

    async sealBulk(id) {
      const text = `UPDATE ${t.bulks} SET state = 'previewed' WHERE ${FILLING} RETURNING ${COLUMNS}`;
      const sealed = await ask(() =>
        doneOnce(store, { before: follow, work: (session) => storedBulk(session, text, [id]) }),
      );
      if (sealed === null) throw notFilling(id);
      return toCaller(sealed);
    },

    async bulk(id) {
      const bulk = await ask(() =>
        database.read(async (session) => {
          await follow(session);
          return storedBulk(session, selectBulk(t), [id]);
        }),
      );
      return bulk && toCaller(bulk);
    },

    async bulks(page) {
      const { before, limit } = pageBounds(page);
      const text = `SELECT ${COLUMNS} FROM ${t.bulks} WHERE id < $1 AND state <> 'filling' ORDER BY id DESC LIMIT $2`;
      const rows = await ask(() =>
        database.read(async (session) => {
          await follow(session);
          return session.rows<BulkRow>(text, [before, limit]);
        }),
      );
      return rows.map((row) => toCaller(bulkFrom(row)));
    },

    async advanceBulk(id, limit, by, { entity }) {
      positiveWhole('limit', limit, MOST_AT_ONCE);
      const author = authorOf(by);
      const times = time.asked();
      const { bulk, moved } = await ask(() =>
        doneOnce(store, {
          before: (session) => writeAt(session, author.now, times),
          work: (session) =>
            advance(scene(session), id, limit, { ...author, now: times.toDatabase(author.now) }, entity),
        }),
      );
      if (moved) notify();
      if (bulk === null) throw unknownBulk(id);
      return toCaller(bulk);
    },

    async reportBulk(id, stops) {
      const text = `UPDATE ${t.bulks} SET heartbeat_ms = ${NOW}, stopped = $2 WHERE id = $1`;
      await ask(() => database.transaction({ work: (session) => session.run(text, [id, stops]) }));
    },

    async outcomePart(id, after, limit) {
      positiveWhole('limit', limit, MOST_AT_ONCE);
      return ask(() =>
        database.read(async (session) => {
          const bulk = await storedBulk(session, selectBulk(t), [id]);
          return bulk && outcome({ session, t }, bulk, after, limit);
        }),
      );
    },

    async cancelBulk(id, by) {
      const author = authorOf(by);
      const bulk = await ask(() =>
        doneOnce(store, {
          before: follow,
          work: (session) => cancel({ session, t }, id, inDatabase(author)),
        }),
      );
      if (bulk === null) throw unknownBulk(id);
      return toCaller(bulk);
    },
  };
}

/** Of the server: machines need not agree with it, nor with each other. */
const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** By their names: a newer version may add others, and Postgres refuses what is prepared to say `*` after that. */
const COLUMNS = `id, act, state, force, filter, actor, reason, created_ms, started_ms, ended_ms, total, breakdown,
  worked, counts, audit, heartbeat_ms, stopped, ${NOW} - heartbeat_ms AS silent_ms`;

/** A bulk that was created at 0 was given up. */
const FILLING = "id = $1 AND state = 'filling' AND created_ms > 0";

/** A bulk whose snapshot is complete. */
function selectBulk(t: Tables): string {
  return `SELECT ${COLUMNS} FROM ${t.bulks} WHERE id = $1 AND state <> 'filling'`;
}

/** Of two machines that change a bulk, one waits here until the other has done so: each event is worked once. */
function lockedBulk({ session, t }: Place, id: number): Promise<StoredBulk | null> {
  return storedBulk(session, `${selectBulk(t)} FOR UPDATE`, [id]);
}

async function storedBulk(session: Session, text: string, values: readonly unknown[]): Promise<StoredBulk | null> {
  const row = await session.row<BulkRow>(text, values);
  return row === undefined ? null : bulkFrom(row);
}

function bulkFrom(row: BulkRow): StoredBulk {
  return bulkOf(row);
}

/** @returns `false` if the snapshot is not being filled any more */
async function addToSnapshot(place: Place, id: number, seqs: readonly number[]): Promise<boolean> {
  const { session, t } = place;
  const bulk = await fillingBulk(place, id);
  if (bulk === null) return false;
  const [rows, known] = await Promise.all([
    readBySeq(place, seqs),
    session.rows<{ seq: number }>(`SELECT seq FROM ${t.bulk_events} WHERE bulk = $1 AND seq = ANY($2::bigint[])`, [
      id,
      seqs,
    ]),
  ]);
  const { added, breakdown } = planSnapshot(
    bulk,
    seqs.map((seq) => rows.get(seq) ?? null),
    new Set(known.map(({ seq }) => seq)),
  );
  await Promise.all([
    session.run(`INSERT INTO ${t.bulk_events} (bulk, seq) SELECT $1, unnest($2::bigint[])`, [id, added]),
    session.run(`UPDATE ${t.bulks} SET total = total + $2, breakdown = $3 WHERE id = $1`, [
      id,
      added.length,
      JSON.stringify(breakdown),
    ]),
  ]);
  return true;
}

/** Another machine that fills the same bulk waits here. */
async function fillingBulk({ session, t }: Place, id: number): Promise<FillingBulk | null> {
  const row = await session.row<BulkRow>(`SELECT ${COLUMNS} FROM ${t.bulks} WHERE ${FILLING} FOR UPDATE`, [id]);
  if (row === undefined) return null;
  const { act, force, filter, created_ms: createdMs } = row;
  return { id, act, force: Boolean(force), filter: filterOf(filter), breakdown: breakdownOf(row), createdMs };
}

/** Works one batch. The first batch of a bulk begins it, and the last one ends it. */
async function advance(
  scene: Scene,
  id: number,
  limit: number,
  author: Author,
  entity: EntityOf | undefined,
): Promise<BulkStep> {
  const { session, t } = scene;
  const bulk = await lockedBulk(scene, id);
  if (bulk === null || hasEnded(bulk)) return { bulk, moved: false };
  const audit = bulk.audit ?? (await start(scene, bulk, author));
  const open = await openEvents(scene, id, limit + 1);
  const { results, moves } = await act(scene, open.slice(0, limit), actingOf(bulk, author, entity));
  const advancing = await saveMoves(scene, moves, author.now);
  const worked = open.slice(0, results.length);
  const { actor, reason, started, counts, state, ended, ...progress } = planProgress(bulk, author, open, results);
  const save = `
    UPDATE ${t.bulks}
    SET actor = $2, reason = $3, audit = $4, started_ms = $5, worked = $6, counts = $7, state = $8, ended_ms = $9,
      reached = greatest(reached, $10), heartbeat_ms = ${NOW}, stopped = false
    WHERE id = $1 RETURNING ${COLUMNS}`;
  const saved = await storedBulk(session, save, [
    id,
    actor,
    reason,
    audit,
    started,
    progress.worked,
    JSON.stringify(counts),
    state,
    ended,
    worked.at(-1) ?? 0,
  ]);
  await writeTogether(scene, [
    ...advancing,
    ...Array.from(
      Map.groupBy(worked.entries(), ([at]) => results[at]),
      ([result, of]) => ({
        text: `UPDATE ${t.bulk_events} SET result = $2 WHERE seq = ANY($1::bigint[]) AND bulk = $3`,
        values: [of.map(([, seq]) => seq), result, id],
      }),
    ),
    recountedLine(t, audit, counts),
    actedEvents(postgres(t), audit, seqsOf(moves), author.now),
  ]);
  return { bulk: saved, moved: results.includes('done') };
}

async function start(place: Place, bulk: StoredBulk, by: Author): Promise<number> {
  const { author, target } = planStart(bulk, by);
  return addAuditLine(place, bulk.act, author, target, {});
}

/** The first events of a snapshot without a result. */
async function openEvents({ session, t }: Place, id: number, limit: number): Promise<readonly number[]> {
  // What has a result already leaves dead entries in the index, which may be there for as long as somebody else reads.
  const text = `
    SELECT seq FROM ${t.bulk_events}
    WHERE bulk = $1 AND result IS NULL AND seq > (SELECT reached FROM ${t.bulks} WHERE id = $1) ORDER BY seq LIMIT $2`;
  return (await session.rows<{ seq: number }>(text, [id, limit])).map(({ seq }) => seq);
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

async function cancel(place: Place, id: number, author: Author): Promise<StoredBulk | null> {
  const bulk = await lockedBulk(place, id);
  if (bulk === null || hasEnded(bulk)) return bulk;
  const { worked, total } = bulk;
  await addAuditLine(place, 'cancel', author, { bulk: id }, { worked, left: total - worked });
  const text = `
    UPDATE ${place.t.bulks} SET state = 'cancelled', ended_ms = $2 WHERE id = $1 RETURNING ${COLUMNS}`;
  return storedBulk(place.session, text, [id, author.now]);
}

/** @returns how many events of snapshots were cleared */
async function clearSome({ session, t }: Place, now: number, isFirst: boolean): Promise<number> {
  const { fillingSince, previewedBefore, endedBefore } = oldBulks(now);
  if (isFirst) {
    // A preview that is still filling a bulk finds it created at 0, and gives up.
    await session.run(`UPDATE ${t.bulks} SET created_ms = 0 WHERE state = 'filling' AND created_ms BETWEEN 1 AND $1`, [
      fillingSince,
    ]);
    await session.run(
      `UPDATE ${t.bulks} SET state = 'cancelled', ended_ms = $2 WHERE state = 'previewed' AND created_ms < $1`,
      [previewedBefore, now],
    );
  }
  return session.run(
    `DELETE FROM ${t.bulk_events} WHERE ctid = ANY(ARRAY(
       SELECT old.ctid FROM ${t.bulks} AS bulks CROSS JOIN LATERAL (
         SELECT ctid FROM ${t.bulk_events} AS events WHERE events.bulk = bulks.id LIMIT $2
       ) AS old
       WHERE bulks.state = 'filling' AND bulks.created_ms = 0
          OR bulks.state = 'cancelled' AND bulks.started_ms IS NULL
          OR bulks.state IN ('done', 'cancelled') AND bulks.ended_ms < $1
       LIMIT $2
     ))`,
    [endedBefore, CLEARED_AT_ONCE],
  );
}

async function outcome(
  { session, t }: Place,
  { id, audit }: StoredBulk,
  after: number,
  limit: number,
): Promise<OutcomePart> {
  const worked = await session.rows<WorkedEvent>(
    `SELECT seq, result FROM ${t.bulk_events}
     WHERE bulk = $1 AND seq > $2 AND result IS NOT NULL ORDER BY bulk, seq LIMIT $3`,
    [id, after, limit],
  );
  const seqs = changedBy(worked);
  const text = `
    SELECT state, failed, erased, again, count(*)::integer AS count FROM (
      SELECT ${STATE}, coalesce(queue.failures > 0, false) AS failed, events.erased_ms IS NOT NULL AS erased,
        (SELECT 1 FROM ${t.event_acts} AS acts WHERE acts.seq = events.seq AND acts.audit > $2 LIMIT 1) IS NOT NULL AS again
      FROM unnest($1::bigint[]) AS acted (seq) CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = acted.seq')} ${places(t)}
    ) AS event GROUP BY state, failed, erased, again`;
  const changed = seqs.length === 0 ? [] : await session.rows<AlikeEvents>(text, [seqs, audit]);
  return outcomeOf(worked, changed, limit);
}
