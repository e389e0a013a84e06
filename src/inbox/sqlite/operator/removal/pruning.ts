import { performance, turn } from '../../../../host/real-timers.ts';
import type { PrunePosition, Removal } from '../../../operator/removal.ts';
import { pruneFound, type Prunings } from '../../../rules/pruning.ts';
import { answer, atOnce } from '../../../rules/steps.ts';
import type { EventState } from '../../../state.ts';
import { statement } from '../../sql/prepared-statement.ts';
import type { Statements } from '../../statements.ts';
import { timeSlice } from '../../engine/time-slice.ts';
import type { Access } from '../access.ts';
import { auditLines } from '../audit/audit-line.ts';
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
        const step = atOnce(pruneFound(prunings(statements), found, before, audit, timeSlice(0)));
        return { ...step, workMs: performance.now() - heldSince };
      });
      const heldMs = performance.now() - heldSince;
      const { pruned, worked, workMs } = done;
      return { pruned, next: worked === found.length ? next : (found[worked - 1] ?? next), workMs, heldMs };
    },
  };
}

interface SettledRow {
  readonly state: EventState;
  readonly settledAt: number | null;
  readonly body: Uint8Array | null;
}

function prunings({ database, engine }: Statements): Prunings {
  const settled = statement(database, 'SELECT state, settled_ms AS settledAt, body FROM hookbox_events WHERE seq = ?');
  return {
    ...engine,
    ...auditLines(database),
    settled: (seq) => answer(settled.get(seq) as SettledRow | undefined),
  };
}
