import { aroundNew, isOutOfOrder, type Extent, type SeqRange } from '../../../operator/finding/seq-ranges.ts';
import type { Reader } from '../../../operator/sql.ts';
import type { Session } from '../../driver/session.ts';
import type { Tables } from '../../sql/tables.ts';
import { rowsIn } from '../operator-tables.ts';

/** In `progress`, the first and the last event that an import put among others that were received at other times. */
const DISORDER_FROM = 'out_of_order_from';
const DISORDER_THROUGH = 'out_of_order_through';

/** The terms of events up to this `seq` are in the index, for SELECT. */
export function selectIndexed(t: Tables): string {
  return `coalesce((SELECT first - 1 FROM ${t.unindexed} ORDER BY first LIMIT 1), ${Number.MAX_SAFE_INTEGER})`;
}

export async function extentOf(rows: Reader['rows'], t: Tables): Promise<Extent> {
  const noted = (what: string): string => `(SELECT seq FROM ${t.progress} WHERE what = '${what}')`;
  const text = `
    SELECT coalesce((SELECT max(seq) FROM ${t.events}), 0) AS newest, ${selectIndexed(t)} AS indexed,
       coalesce(${noted(DISORDER_FROM)}, 0) AS from, ${noted(DISORDER_THROUGH)} AS through`;
  const [row] = await rows<{ newest: number; indexed: number; from: number; through: number | null }>({ text });
  if (row === undefined) throw new Error('a statement without FROM has one row');
  const { newest: newestSeq, indexed, from, through } = row;
  return { newestSeq, indexed, disorder: through === null ? null : { from, before: through + 1 } };
}

/** The times at which the first events of each range were received. */
export async function receivedIn(
  rows: Reader['rows'],
  t: Tables,
  ranges: readonly SeqRange[],
  limit: number,
): Promise<readonly (readonly number[])[]> {
  const text = `
    SELECT given.place, events.received_ms FROM unnest($1::bigint[], $2::bigint[])
       WITH ORDINALITY AS given (first, before, place)
     CROSS JOIN LATERAL (
       SELECT received_ms FROM ${t.events} WHERE seq >= given.first AND seq < given.before ORDER BY seq LIMIT $3
     ) AS events`;
  const values = [ranges.map(({ from }) => from), ranges.map(({ before }) => before), limit];
  const found = await rows<{ place: number; received_ms: number }>({ text, values });
  const received = ranges.map((): number[] => []);
  for (const { place, received_ms: ms } of found) received[place - 1]?.push(ms);
  return received;
}

/** Notes whether new events are out of order. Call it in the transaction that stores or indexes them. */
export async function noteOutOfOrder(session: Session, t: Tables, first: number, last: number): Promise<void> {
  const { range, limit } = aroundNew(first, last);
  const [received = []] = await receivedIn(rowsIn(session), t, [range], limit);
  if (!isOutOfOrder(received)) return;
  // Two machines may import at once.
  const note = (what: string, seq: number, which: 'least' | 'greatest') =>
    session.run(
      `INSERT INTO ${t.progress} AS known (what, seq) VALUES ($1, $2)
       ON CONFLICT (what) DO UPDATE SET seq = ${which}(known.seq, excluded.seq)`,
      [what, seq],
    );
  await Promise.all([note(DISORDER_FROM, first, 'least'), note(DISORDER_THROUGH, last, 'greatest')]);
}
