import type { TimeSlice } from '../../rules/engine.ts';
import type { NamedStatements } from '../sql/named-statements.ts';

/** How many events are made known to the indexes for work at once. */
const FRESH_BATCH = 500;

/**
 * Makes events known that no processor has looked at, up to one of them. Small ones are written together.
 *
 * @returns whether there is more
 */
export function lookAtFresh(
  { moves, queue }: NamedStatements,
  { now, upTo }: { readonly now: number; readonly upTo: number },
  slice: TimeSlice,
): boolean {
  const rows = queue.fresh.all({ upTo, limit: FRESH_BATCH }) as { seq: number; bytes: number }[];
  const last = rows.at(-1);
  for (const row of rows) {
    if (!slice.add(row.bytes) && row !== last) continue;
    moves.lookAtFresh.run({ now, upTo: row.seq, limit: FRESH_BATCH });
    if (slice.isOver() && row !== last) return true;
  }
  return rows.length === FRESH_BATCH;
}
