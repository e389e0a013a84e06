import { setImmediate as turn } from 'node:timers/promises';
import type { PrunePosition, Removal } from '../../../operator/removal.ts';
import type { SqliteDatabase } from '../../database.ts';
import { makeTombstone } from '../../tombstone.ts';
import type { Statements } from '../../statements.ts';
import { type Access } from '../access.ts';
import { statement } from '../../prepared-statement.ts';
import { addToAuditLine } from '../audit/audit-counts.ts';
import { pruneCandidates } from './prune-candidates.ts';

/** Deliveries share the commit, so a batch of large bodies ends early: reading and hashing them takes its time. */
const BATCH_MS = 10;
/** How many events are counted between two turns of the event loop. */
const COUNTED = 1_000;

/** Makes tombstones of events that are settled. */
export function pruning(access: Access): Pick<Removal, 'prunable' | 'pruneSome'> {
  return {
    async prunable(criteria, limit, { signal, onProgress } = {}) {
      let count = 0;
      let after: PrunePosition | null = null;
      do {
        const { found, next } = pruneCandidates(access.database(), criteria, after, Math.min(COUNTED, limit - count));
        count += found.length;
        after = next;
        onProgress?.(count);
        await turn();
        if (signal?.aborted === true) break;
      } while (after !== null && count < limit);
      return count;
    },

    async pruneSome(criteria, limit, { after = null, audit } = {}) {
      // Found outside the transaction, where it costs deliveries nothing; what has changed since is passed over in it.
      const { found, next } = pruneCandidates(access.database(), criteria, after, limit);
      if (found.length === 0) return { pruned: 0, next, workMs: 0, heldMs: 0 };
      const before = criteria.settledBefore.getTime();
      let heldSince = 0;
      const done = await access.write((database, statements) => {
        heldSince = performance.now();
        let pruned = 0;
        let last: PrunePosition | undefined;
        for (last of found) {
          if (pruneOne(database, statements, last, before)) pruned += 1;
          if (performance.now() - heldSince > BATCH_MS) break;
        }
        if (audit !== undefined) addToAuditLine(database, audit, { pruned });
        return { pruned, last, workMs: performance.now() - heldSince };
      });
      const heldMs = performance.now() - heldSince;
      return {
        pruned: done.pruned,
        next: done.last === found.at(-1) ? next : (done.last ?? next),
        workMs: done.workMs,
        heldMs,
      };
    },
  };
}

function pruneOne(
  database: SqliteDatabase,
  statements: Statements,
  { seq, state }: PrunePosition,
  before: number,
): boolean {
  const row = statement(
    database,
    `SELECT body FROM hookbox_events
     WHERE seq = :seq AND state = :state AND settled_ms < :before AND body IS NOT NULL`,
  ).get({ seq, state, before });
  if (row === undefined) return false;
  makeTombstone(statements, seq, (row as { body: Uint8Array }).body);
  return true;
}
