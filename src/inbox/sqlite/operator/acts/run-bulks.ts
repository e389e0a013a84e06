import { positiveWhole } from '../../../../number-option.ts';
import type { Acts } from '../../../operator/acts.ts';
import { bulkOf, type BulkRow } from '../../../operator/bulk-record.ts';
import { assertFilter } from '../../../operator/check-filter.ts';
import {
  addToBulk,
  advanceBulk,
  cancelBulk,
  MOST_AT_ONCE,
  notFilling,
  refuseTooMany,
  sealBulk,
  unknownBulk,
  type BulkEngine,
} from '../../../rules/bulks.ts';
import { outcomePart } from '../../../rules/bulk-outcome.ts';
import { atOnce } from '../../../rules/steps.ts';
import { statement } from '../../sql/prepared-statement.ts';
import type { Statements } from '../../statements.ts';
import { timeSlice } from '../../engine/time-slice.ts';
import type { Access } from '../access.ts';
import { auditLines } from '../audit/audit-line.ts';
import { atCommit, authorOf } from '../../../operator/author.ts';
import { pageBounds } from '../../../operator/page-bounds.ts';
import { actEngine } from './act-on-events.ts';
import { bulkOutcomes } from './bulk-outcomes.ts';
import { bulkRecords, findBulk, SELECT_BULKS } from './bulk-record.ts';
import { snapshots } from './bulk-snapshot.ts';
import { clearAway, oldBulks } from './clear-old-bulks.ts';

/** Acts on snapshots. */
export function bulks(access: Access): Omit<Acts, 'act'> {
  return {
    async createBulk(act, filter, by, force) {
      const author = authorOf(by);
      assertFilter(filter);
      await clearAway(access, author.now);
      return access.write(({ database }, waitedMs) => {
        const { actor, reason, now } = atCommit(author, waitedMs);
        const { lastInsertRowid } = statement(
          database,
          `INSERT INTO hookbox_bulks (act, state, force, filter, actor, reason, created_ms)
           VALUES (?, 'filling', ?, ?, ?, ?, ?)`,
        ).run(act, force ? 1 : 0, JSON.stringify(filter), actor, reason, now);
        return Number(lastInsertRowid);
      });
    },

    async addToBulk(id, seqs) {
      refuseTooMany(seqs);
      const added = await access.write((statements) => atOnce(addToBulk(bulkEngine(statements), id, seqs)));
      if (!added) throw notFilling(id);
    },

    async sealBulk(id) {
      const sealed = await access.write((statements) => atOnce(sealBulk(bulkEngine(statements), id)));
      if (sealed === null) throw notFilling(id);
      return sealed;
    },

    async bulk(id) {
      return findBulk(access.database(), id);
    },

    async bulks(page) {
      const { before, limit } = pageBounds(page);
      const sql = `${SELECT_BULKS} WHERE id < ? AND state != 'filling' ORDER BY id DESC LIMIT +?`;
      const rows = statement(access.database(), sql).all(Date.now(), before, limit) as BulkRow[];
      return rows.map(bulkOf);
    },

    async advanceBulk(id, limit, by, { entity }) {
      positiveWhole('limit', limit, MOST_AT_ONCE);
      const author = authorOf(by);
      const { bulk, moved } = await access.write((statements, waitedMs) => {
        const acting = { author: atCommit(author, waitedMs), entity };
        return atOnce(advanceBulk(bulkEngine(statements), id, limit, acting, timeSlice(0)));
      });
      if (moved) access.notify();
      if (bulk === null) throw unknownBulk(id);
      return bulk;
    },

    async reportBulk(id, stops) {
      await access.write(({ database }) => atOnce(bulkRecords(database).noteHeartbeat(id, stops)));
    },

    async outcomePart(id, after, limit) {
      positiveWhole('limit', limit, MOST_AT_ONCE);
      const database = access.database();
      const bulk = findBulk(database, id);
      return bulk && atOnce(outcomePart(bulkOutcomes(database), bulk, after, limit));
    },

    async cancelBulk(id, by) {
      const author = authorOf(by);
      const bulk = await access.write((statements, waitedMs) =>
        atOnce(cancelBulk(bulkEngine(statements), id, atCommit(author, waitedMs))),
      );
      if (bulk === null) throw unknownBulk(id);
      return bulk;
    },
  };
}

function bulkEngine(statements: Statements): BulkEngine {
  const { database } = statements;
  return {
    ...actEngine(statements),
    ...auditLines(database),
    ...snapshots(database),
    ...bulkRecords(database),
    ...oldBulks(database),
  };
}
