import { positiveWhole } from '../../../../number-option.ts';
import type { Acts, StoredBulk } from '../../../operator/acts.ts';
import { authorOf } from '../../../operator/author.ts';
import { type BulkRow } from '../../../operator/bulk-record.ts';
import { assertFilter } from '../../../operator/check-filter.ts';
import { pageBounds } from '../../../operator/page-bounds.ts';
import type { Author } from '../../../rules/audit-line.ts';
import {
  addToBulk,
  advanceBulk,
  cancelBulk,
  clearOldBulks,
  MOST_AT_ONCE,
  notFilling,
  refuseTooMany,
  sealBulk,
  unknownBulk,
} from '../../../rules/bulks.ts';
import { outcomePart } from '../../../rules/bulk-outcome.ts';
import { awaited } from '../../../rules/steps.ts';
import { textOrNull, toText } from '../../driver/values.ts';
import type { Session } from '../../driver/session.ts';
import { timeSlice } from '../../engine/time-slice.ts';
import type { Access } from '../access.ts';
import { doneOnce } from '../done-once.ts';
import { fillingEngine, runningEngine } from './bulk-engine.ts';
import { bulkOutcomes } from './bulk-outcomes.ts';
import { bulkRecords, COLUMNS, COMPLETE, findBulk, storedBulk } from './bulk-records.ts';

/** What is more waits for the next preview. */
const MOST_BATCHES = 20;

/** Acts on snapshots. */
export function bulks({ store, ask, notify }: Access): Omit<Acts, 'act'> {
  const { database, t, time, scene, writeAt } = store;
  const inDatabase = (author: Author): Author => ({ ...author, now: time.toDatabase(author.now) });
  const shift = (at: Date | null): Date | null => at && new Date(time.toCaller(at.getTime()));
  const toCaller = (bulk: StoredBulk): StoredBulk => ({
    ...bulk,
    createdAt: new Date(time.toCaller(bulk.createdAt.getTime())),
    startedAt: shift(bulk.startedAt),
    endedAt: shift(bulk.endedAt),
  });

  /** Clears away what nobody needs any more of bulks (rules/bulks.ts). */
  async function clearAway(author: Author): Promise<void> {
    for (let batch = 0; batch < MOST_BATCHES; batch += 1) {
      const more = await database.transaction({
        before: (session) => time.follow(session),
        work: (session) =>
          awaited(clearOldBulks(bulkRecords({ session, t }), time.toDatabase(author.now), batch === 0)),
      });
      if (!more) return;
    }
  }

  return {
    async createBulk(act, filter, by, force) {
      const author = authorOf(by);
      assertFilter(filter);
      await ask(() => clearAway(author));
      return ask(() =>
        doneOnce(store, {
          async work(session) {
            const { actor, reason, now } = inDatabase(author);
            const row = await session.row<{ id: number }>(
              `INSERT INTO ${t.bulks} (act, state, force, filter, actor, reason, created_ms)
               VALUES ($1, 'filling', $2, $3, $4, $5, $6) RETURNING id`,
              [act, force, JSON.stringify(filter), toText(actor), textOrNull(reason), now],
            );
            return row?.id ?? 0;
          },
        }),
      );
    },

    async addToBulk(id, seqs) {
      refuseTooMany(seqs);
      const added = await ask(() =>
        doneOnce(store, {
          async work(session) {
            const engine = await fillingEngine(scene(session), id, seqs);
            const isFilling = await awaited(addToBulk(engine, id, seqs));
            await engine.flush();
            return isFilling;
          },
        }),
      );
      if (!added) throw notFilling(id);
    },

    async sealBulk(id) {
      const sealed = await ask(() =>
        doneOnce(store, {
          before: (session) => time.follow(session),
          work: async (session) => awaited(sealBulk(await runningEngine(scene(session), id, 0), id)),
        }),
      );
      if (sealed === null) throw notFilling(id);
      return toCaller(sealed);
    },

    async bulk(id) {
      const bulk = await ask(() =>
        database.read(async (session) => {
          await time.follow(session);
          return findBulk(session, `SELECT ${COLUMNS} FROM ${t.bulks} WHERE ${COMPLETE}`, id);
        }),
      );
      return bulk && toCaller(bulk);
    },

    async bulks(page) {
      const { before, limit } = pageBounds(page);
      const text = `SELECT ${COLUMNS} FROM ${t.bulks} WHERE id < $1 AND state <> 'filling' ORDER BY id DESC LIMIT $2`;
      const rows = await ask(() =>
        database.read(async (session) => {
          await time.follow(session);
          return session.rows<BulkRow>(text, [before, limit]);
        }),
      );
      return rows.map((row) => toCaller(storedBulk(row)));
    },

    async advanceBulk(id, limit, by, { entity }) {
      positiveWhole('limit', limit, MOST_AT_ONCE);
      const author = authorOf(by);
      const times = time.asked();
      const { bulk, moved } = await ask(() =>
        doneOnce(store, {
          before: (session) => writeAt(session, author.now, times),
          async work(session) {
            const place = scene(session);
            const engine = await runningEngine(place, id, limit);
            const acting = { author: { ...author, now: times.toDatabase(author.now) }, entity };
            const step = await awaited(advanceBulk(engine, id, limit, acting, timeSlice()));
            await engine.flush();
            await place.writes.flush();
            return step;
          },
        }),
      );
      if (moved) notify();
      if (bulk === null) throw unknownBulk(id);
      return toCaller(bulk);
    },

    async reportBulk(id, stops) {
      const work = (session: Session) => awaited(bulkRecords({ session, t }).noteHeartbeat(id, stops));
      await ask(() => database.transaction({ work }));
    },

    async outcomePart(id, after, limit) {
      positiveWhole('limit', limit, MOST_AT_ONCE);
      return ask(() =>
        database.read(async (session) => {
          const bulk = await findBulk(session, `SELECT ${COLUMNS} FROM ${t.bulks} WHERE ${COMPLETE}`, id);
          return bulk && awaited(outcomePart(bulkOutcomes({ session, t }), bulk, after, limit));
        }),
      );
    },

    async cancelBulk(id, by) {
      const author = authorOf(by);
      const bulk = await ask(() =>
        doneOnce(store, {
          before: (session) => time.follow(session),
          work: async (session) =>
            awaited(cancelBulk(await runningEngine(scene(session), id, 0), id, inDatabase(author))),
        }),
      );
      if (bulk === null) throw unknownBulk(id);
      return toCaller(bulk);
    },
  };
}
