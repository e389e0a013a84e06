import { turn } from '../../host/real-timers.ts';
import {
  beginningOf,
  candidatesAmong,
  EXAMINED,
  statesToPrune,
  type LookedAt,
  type PruneCandidates,
  type PrunePlan,
} from '../rules/pruning.ts';
import type { PruneCriteria, PrunePosition, PruneStep, Removal } from './removal.ts';

/** How many events are counted between two turns of the event loop. */
const COUNTED = 1_000;

/** What each engine does itself of pruning. */
export interface PruningEngine {
  /** Whether an index finds the events of an endpoint in this state. Few are looked at then. */
  readonly hasIndex: (state: PrunePosition['state']) => boolean;
  /** The first behind a position, in the order in which they were settled. */
  readonly lookAt: (criteria: PruneCriteria, from: PrunePosition, looked: number) => Promise<readonly LookedAt[]>;
  /** Makes tombstones of events that were found, in one transaction. What has changed since is passed over. */
  readonly prune: (found: readonly PrunePosition[], settledBefore: Date, audit: number | undefined) => Promise<Pruned>;
}

export interface Pruned extends Omit<PruneStep, 'next'>, Pick<PrunePlan, 'worked'> {}

/** Makes tombstones of events that are settled. */
export function pruning({ hasIndex, lookAt, prune }: PruningEngine): Pick<Removal, 'prunable' | 'pruneSome'> {
  /** Events that can be pruned, state by state, in the order in which they were settled: up to `limit`. */
  async function candidates(
    criteria: PruneCriteria,
    after: PrunePosition | null,
    limit: number,
  ): Promise<PruneCandidates> {
    const [first = null] = statesToPrune(criteria);
    const from = after ?? beginningOf(first);
    if (from === null) return { found: [], next: null };
    const { state } = from;
    const fit = criteria.types === undefined && (criteria.endpoint === undefined || hasIndex(state));
    const looked = fit ? Math.min(limit, EXAMINED) : EXAMINED;
    return candidatesAmong(criteria, state, await lookAt(criteria, from, looked), looked, limit);
  }

  return {
    async prunable(criteria, limit, { signal, onProgress } = {}) {
      let count = 0;
      let after: PrunePosition | null = null;
      do {
        const { found, next } = await candidates(criteria, after, Math.min(COUNTED, limit - count));
        count += found.length;
        after = next;
        onProgress?.(count);
        await turn();
        if (signal?.aborted === true) break;
      } while (after !== null && count < limit);
      return count;
    },

    async pruneSome(criteria, limit, { after = null, audit } = {}) {
      // Found outside the transaction, where it costs deliveries nothing.
      const { found, next } = await candidates(criteria, after, limit);
      if (found.length === 0) return { pruned: 0, next, workMs: 0, heldMs: 0 };
      const { worked, ...step } = await prune(found, criteria.settledBefore, audit);
      return { ...step, next: worked === found.length ? next : (found[worked - 1] ?? next) };
    },
  };
}
