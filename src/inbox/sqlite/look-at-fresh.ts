import type { TimeSlice } from './time-slice.ts';
import type { Statements } from './statements.ts';

/** How many events are made known to the indexes for work at once. */
const FRESH_BATCH = 500;

/** Makes events known that no processor has looked at, up to one of them. Small ones are written together. */
export function lookAtFresh(
  statements: Statements,
  { now, upTo }: { readonly now: number; readonly upTo: number },
  slice: TimeSlice,
): 'more' | 'all' {
  const rows = statements.queue.fresh.all({ upTo, limit: FRESH_BATCH }) as { seq: number; bytes: number }[];
  const last = rows.at(-1);
  for (const row of rows) {
    if (!slice.add(row.bytes) && row !== last) continue;
    statements.moves.lookAtFresh.run({ now, upTo: row.seq, limit: FRESH_BATCH });
    if (slice.isOver() && row !== last) return 'more';
  }
  return rows.length === FRESH_BATCH ? 'more' : 'all';
}
