import { setImmediate as turn } from 'node:timers/promises';
import type { PrunePosition, Removal } from '../../../operator/removal.ts';
import { statement } from '../../prepared-statement.ts';
import type { Statements } from '../../statements.ts';
import { timeSlice } from '../../time-slice.ts';
import { makeTombstone } from '../../tombstone.ts';
import type { Access } from '../access.ts';
import { addToAuditLine } from '../audit/audit-line.ts';
import { pruneCandidates } from './prune-candidates.ts';

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
      const done = await access.write((statements) => {
        heldSince = performance.now();
        let pruned = 0;
        let last: PrunePosition | undefined;
        // What goes with a body is not counted: another body, and what errors said.
        const slice = timeSlice(0);
        for (last of found) {
          const bytes = pruneOne(statements, last, before);
          if (bytes !== null) pruned += 1;
          slice.add(bytes ?? 0);
          if (slice.isOver()) break;
        }
        if (audit !== undefined) addToAuditLine(statements.database, audit, { pruned });
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

/** How many bytes its body had; `null` when it has changed since it was found. */
function pruneOne(statements: Statements, { seq, state }: PrunePosition, before: number): number | null {
  const row = statement(
    statements.database,
    `SELECT body FROM hookbox_events
     WHERE seq = :seq AND state = :state AND settled_ms < :before AND body IS NOT NULL`,
  ).get({ seq, state, before });
  if (row === undefined) return null;
  const { body } = row as { body: Uint8Array };
  makeTombstone(statements, seq, body);
  return body.byteLength;
}
