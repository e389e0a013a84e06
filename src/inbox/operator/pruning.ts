import { performance, turn } from '../../host/real-timers.ts';
import { Budget } from '../rules/budget.ts';
import {
  beginningOf,
  candidatesAmong,
  EXAMINED,
  planPrune,
  statesToPrune,
  type LookedAt,
  type PruneCandidates,
  type PruneCriteria,
  type PrunePosition,
  type SettledEvent,
} from '../rules/pruning.ts';
import { addToLine } from './audit.ts';
import { type OperatorTables, type Reader } from './sql.ts';
import { listedEvents } from './summaries.ts';

export interface PruneStep {
  readonly pruned: number;
  /** `null` at the end */
  readonly next: PrunePosition | null;
  /** milliseconds; less than the real time if deliveries hardly wait, as on Postgres */
  readonly workMs: number;
  /** as `workMs`, with the commit */
  readonly heldMs: number;
}

interface CountOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((found: number) => void) | undefined;
}

export interface Pruning {
  /** Counts the events that match the criteria, up to `limit`, which may be `Infinity`. */
  prunable(criteria: PruneCriteria, limit: number, options?: CountOptions): Promise<number>;
  /**
   * Turns up to `limit` events into tombstones in one transaction, which ends early so as not to block the writer.
   *
   * @param progress - the end of the previous step, and the audit line whose count of `pruned` grows
   */
  pruneSome(
    criteria: PruneCriteria,
    limit: number,
    progress?: { readonly after?: PrunePosition | null; readonly audit?: number },
  ): Promise<PruneStep>;
}

export interface PruningEngine {
  /** Whether an index finds an endpoint's events in this state. */
  readonly hasIndex: (state: PrunePosition['state']) => boolean;
  readonly lookAt: (
    reader: Reader,
    criteria: PruneCriteria,
    from: PrunePosition,
    looked: number,
  ) => Promise<readonly LookedAt[]>;
  /** A transaction here delays deliveries by this much less than one in SQLite. */
  readonly worksLighter: number;
  readonly holdsLighter: number;
}

const COUNTED = 1_000;

export function pruning(
  tables: OperatorTables,
  { hasIndex, lookAt, worksLighter, holdsLighter }: PruningEngine,
): Pruning {
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
    const rows = await tables.read((reader) => lookAt(reader, criteria, from, looked));
    return candidatesAmong(criteria, state, rows, looked, limit);
  }

  async function prune(found: readonly PrunePosition[], settledBefore: Date, audit: number | undefined) {
    const { dialect, bounds } = tables;
    const seqs = found.map(({ seq }) => seq);
    const text = `
      SELECT events.seq, ${dialect.state}, length(events.body) AS bytes, ${dialect.settled} AS "settledAt"
      FROM ${listedEvents(dialect)} ${dialect.event.joins}`;
    let heldSince = 0;
    const done = await tables.change(async (tx) => {
      heldSince = performance.now();
      await tx.hold(seqs);
      const rows = await tx.rows<SettledEvent & { readonly seq: number }>({ text, values: [seqs] });
      const settled = new Map(rows.map((row) => [row.seq, row]));
      const plan = planPrune(found, settled, tx.timeOf(settledBefore), new Budget(bounds.prunedBytes));
      await tx.prune(plan.prune);
      const pruned = plan.prune.length;
      if (audit !== undefined) await addToLine(tx, audit, { pruned });
      return { pruned, worked: plan.worked, workMs: (performance.now() - heldSince) / worksLighter };
    });
    return { ...done, heldMs: (performance.now() - heldSince) / holdsLighter };
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
      // Deliveries do not wait for this check.
      const { found, next } = await candidates(criteria, after, limit);
      if (found.length === 0) return { pruned: 0, next, workMs: 0, heldMs: 0 };
      const { worked, ...step } = await prune(found, criteria.settledBefore, audit);
      return { ...step, next: worked === found.length ? next : (found[worked - 1] ?? next) };
    },
  };
}
