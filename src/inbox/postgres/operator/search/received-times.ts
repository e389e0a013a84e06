import { aroundNew, isOutOfOrder, type SeqRange } from '../../../operator/finding/seq-ranges.ts';
import { disorder } from '../../../operator/finding/indexes.ts';
import type { Reader } from '../../../operator/sql.ts';
import type { Session } from '../../driver/session.ts';
import type { Tables } from '../../sql/tables.ts';
import { rowsIn } from '../operator-tables.ts';

/** The terms of events up to this `seq` are in the index, for SELECT. */
export function selectIndexed(t: Tables): string {
  return `coalesce((SELECT first - 1 FROM ${t.unindexed} ORDER BY first LIMIT 1), ${Number.MAX_SAFE_INTEGER})`;
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
  await Promise.all(disorder({ t }, first, last).map(({ text, values }) => session.run(text, values)));
}
