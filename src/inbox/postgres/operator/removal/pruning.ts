import { performance } from '../../../../host/real-timers.ts';
import type { PruneCriteria, PrunePosition, Removal } from '../../../operator/removal.ts';
import { pruneFound, type Prunings, type SettledEvent } from '../../../rules/pruning.ts';
import { answer, asked, awaited } from '../../../rules/steps.ts';
import { postgresEngine } from '../../engine/postgres-engine.ts';
import type { Scene } from '../../engine/scene.ts';
import { joined, STATE } from '../../sql/records.ts';
import type { Access } from '../access.ts';
import { bodiesAhead } from '../acts/bodies-ahead.ts';
import { keepUnpruned } from '../acts/held-events.ts';
import { auditLines } from '../audit/audit-line.ts';
import { doneOnce } from '../done-once.ts';
import { byteSlice } from './byte-slice.ts';
import { pruneCandidates } from './prune-candidates.ts';

/** How many events are counted by one statement. */
const COUNTED = 1_000;

/**
 * There is no one writer here that deliveries wait for, only the slots of these events: a batch may take so many times as long,
 * and whoever prunes rests for as long as it has worked.
 */
const LONGER = 50;
const RESTS_LESS = 4;

/** Makes tombstones of events that are settled. */
export function pruning({ store, ask }: Access): Pick<Removal, 'prunable' | 'pruneSome'> {
  const { database, t, time, scene } = store;

  /** What can be pruned; as of then, and what has changed since is passed over in the transaction. */
  const candidates = (criteria: PruneCriteria, after: PrunePosition | null, limit: number) =>
    ask(() =>
      database.read(async (session) => {
        await time.follow(session);
        const settledBefore = new Date(time.toDatabase(criteria.settledBefore.getTime()));
        return pruneCandidates({ session, t }, { ...criteria, settledBefore }, after, limit);
      }),
    );

  return {
    async prunable(criteria, limit, { signal, onProgress } = {}) {
      let count = 0;
      let after: PrunePosition | null = null;
      do {
        const { found, next } = await candidates(criteria, after, Math.min(COUNTED, limit - count));
        count += found.length;
        after = next;
        onProgress?.(count);
        if (signal?.aborted === true) break;
      } while (after !== null && count < limit);
      return count;
    },

    async pruneSome(criteria, limit, { after = null, audit } = {}) {
      const { found, next } = await candidates(criteria, after, limit);
      if (found.length === 0) return { pruned: 0, next, workMs: 0, heldMs: 0 };
      let heldSince = 0;
      const done = await ask(() =>
        doneOnce(store, {
          before: (session) => time.follow(session),
          async work(session) {
            heldSince = performance.now();
            const place = scene(session);
            const engine = await prunings(place, found);
            const before = time.toDatabase(criteria.settledBefore.getTime());
            const step = await awaited(pruneFound(engine, found, before, audit, byteSlice()));
            await place.writes.flush();
            return { ...step, workMs: performance.now() - heldSince };
          },
        }),
      );
      const heldMs = (performance.now() - heldSince) / RESTS_LESS;
      const { pruned, worked } = done;
      const workMs = done.workMs / LONGER;
      return { pruned, next: worked === found.length ? next : (found[worked - 1] ?? next), workMs, heldMs };
    },
  };
}

interface SettledRow extends Omit<SettledEvent, 'body' | 'settledAt'> {
  readonly seq: number;
  readonly settled_ms: number | null;
  readonly bytes: number;
  readonly pruned: boolean;
}

/** Nobody moves or prunes these until the transaction ends. */
async function prunings(scene: Scene, found: readonly PrunePosition[]): Promise<Prunings> {
  const { session, t, locks } = scene;
  const seqs = found.map(({ seq }) => seq);
  await locks.takeOfSeqs(seqs);
  await keepUnpruned(scene, '$1::bigint[]', [seqs]);
  const rows = await session.rows<SettledRow>(
    `SELECT events.seq, ${STATE}, coalesce(octet_length(events.body), 0) AS bytes, events.body IS NULL AS pruned,
       coalesce(shelf.settled_ms,
         (SELECT ended_ms FROM ${t.attempts} AS attempts WHERE attempts.seq = events.seq AND prunable LIMIT 1),
         (SELECT settled_ms FROM ${t.imported} AS imported WHERE imported.seq = events.seq AND prunable)) AS settled_ms
     FROM ${joined(t)} WHERE events.seq = ANY($1::bigint[])`,
    [seqs],
  );
  const unread = new Map(rows.map((row) => [row.seq, row]));
  const inOrder = seqs.flatMap((seq) => unread.get(seq) ?? []);
  const bodyOf = bodiesAhead(scene, inOrder);
  const settled = async (row: SettledRow): Promise<SettledEvent> => ({
    state: row.state,
    settledAt: row.settled_ms,
    body: row.pruned ? null : await bodyOf(row.seq),
  });
  return {
    ...postgresEngine(scene),
    ...auditLines(scene),
    settled(seq) {
      const row = unread.get(seq);
      return row === undefined ? answer(undefined) : asked(settled(row));
    },
  };
}
