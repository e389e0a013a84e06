import { type SeqOrder, type SeqRange, aroundNew, isOutOfOrder } from '../../operator/finding/seq-ranges.ts';
import { SORTED, type Listing, type SearchIndexes, disorder } from '../../operator/finding/indexes.ts';
import { putAwayStates, type EventState, type PutAwayState } from '../../event.ts';
import type { Reader } from '../../operator/sql.ts';
import type { Session } from '../driver/session.ts';
import { distinctEndpoints } from '../engine/due-events.ts';
import { toKey, type Tables } from '../sql/tables.ts';
import { rowsIn } from './operator-tables.ts';

/**
 * The indexes of a schema. A partial index is asked for in its own words, and in an order that no other has: where the statistics
 * say that a table is small, Postgres would go through all of it by its `seq`.
 */
export function searchIndexes({ rows }: Reader, t: Tables): SearchIndexes {
  const aside = (from: string): Listing => ({
    from,
    within: 'seq + 0 >= $1 AND seq + 0 < $2',
    order: (direction) => `seq + 0 ${direction}`,
  });
  const place = '(coalesce(fingerprint, dead_reason), seq)';
  return {
    indexed: selectIndexed(t),
    everything: { from: `${t.events} WHERE true` },
    retrying: aside(`${t.queue} WHERE lease_until_ms IS NULL AND failures > 0`),
    group: (fingerprint) => ({
      from: `${t.shelf} WHERE state = 'dead' AND NOT pruned`,
      within: `${place} >= ($4::text, $1::bigint) AND ${place} < ($4::text, $2::bigint)`,
      order: (direction) => `coalesce(fingerprint, dead_reason) ${direction}, seq ${direction}`,
      values: [fingerprint],
    }),
    state: (state) => aside(`${t.shelf} WHERE ${onShelf(state)}`),
    withIds: `SELECT seq FROM ${t.events} WHERE id = ANY($1::text[])`,
    died: died(t),
    nextId: (is, value) => `SELECT id FROM ${t.events} WHERE id ${is} ${value} ORDER BY id LIMIT 1`,
    // A third of the statements of halving, for little more than twice the rows.
    samplesAtOnce: 7,
    receivedIn: (ranges, limit) => receivedIn(rows, t, ranges, limit),
    inStates: (...given) => inStates(rows, t, ...given),
  };
}

/**
 * What has died stands in the order of its time at each endpoint, and there are few of these. Asked for as the index has it, as
 * another one knows dead events too.
 */
function died(t: Tables): string {
  return `
  WITH RECURSIVE lane AS (
    (SELECT state, endpoint FROM ${t.shelf}
     WHERE NOT pruned AND (state, endpoint) >= ('dead', '') ORDER BY state, endpoint, settled_ms, seq LIMIT 1)
    UNION ALL
    SELECT next.state, next.endpoint FROM lane CROSS JOIN LATERAL (
      SELECT state, endpoint FROM ${t.shelf}
      WHERE NOT pruned AND (state, endpoint) > (lane.state, lane.endpoint)
      ORDER BY state, endpoint, settled_ms, seq LIMIT 1
    ) AS next
    WHERE lane.state = 'dead'
  )
  SELECT died.seq, died.settled_ms FROM lane CROSS JOIN LATERAL (
    SELECT seq, settled_ms FROM ${t.shelf} AS settled
    WHERE NOT pruned
      AND (state, endpoint, settled_ms, seq) >= (lane.state, lane.endpoint, $1::bigint, 0)
      AND (state, endpoint, settled_ms, seq) < (lane.state, lane.endpoint, $2::bigint, $3::bigint)
    ORDER BY state DESC, endpoint DESC, settled_ms DESC, seq DESC LIMIT $4
  ) AS died
  WHERE lane.state = 'dead'
  ORDER BY died.settled_ms DESC, died.seq DESC LIMIT $4`;
}

/** As `shelf_by_state` has it. */
export function onShelf(state: PutAwayState): string {
  return `state || '' = '${state}'`;
}

/** In one statement, since processors move events from one place to the other; `null` where one of them cannot. */
async function inStates(
  rows: Reader['rows'],
  t: Tables,
  states: readonly EventState[],
  types: readonly string[] | undefined,
  ...page: readonly [range: SeqRange, limit: number, order: SeqOrder]
): Promise<readonly number[] | null> {
  if (states.includes('processed')) return null;
  const part = (table: string, place: string, where: string): string => `
    (SELECT seq FROM ${table} WHERE ${place} >= $1 AND ${place} < $2 AND ${where} ORDER BY ${place} DIRECTION LIMIT $3)`;
  const some = (name: string): string => `(SELECT seq FROM ${name} WHERE seq >= $1 AND seq < $2)`;
  const isPending = states.includes('pending');
  const isTyped = isPending && types !== undefined;
  const parts: string[] = [];
  // All that is in processing as well.
  if (isPending && !isTyped) parts.push(part(t.queue, 'seq', 'true'));
  if (isTyped) parts.push(some('ready'), part(t.queue, 'seq + 0', 'parked'));
  // There are as many as handlers that run now.
  const isLeased = states.includes('processing') && (isTyped || !isPending);
  if (isLeased) parts.push(some('leased'));
  for (const state of putAwayStates) {
    if (states.includes(state)) parts.push(part(t.shelf, 'seq + 0', onShelf(state)));
  }
  if (parts.length === 0) return [];

  const ordered = `
    WITH leased AS MATERIALIZED (
      SELECT seq FROM ${t.queue} WHERE lease_until_ms IS NOT NULL AND NOT processed LIMIT ${isLeased ? SORTED + 1 : 0}
    ), ready AS MATERIALIZED (${isTyped ? readyOfTypes(t) : 'SELECT NULL::bigint AS seq LIMIT 0'})
    (SELECT seq FROM (${parts.join(' UNION ALL ')}) AS found ORDER BY seq DIRECTION LIMIT $3)
    UNION ALL
    SELECT NULL WHERE (SELECT count(*) FROM leased) > ${SORTED} OR (SELECT count(*) FROM ready) > ${SORTED}`;
  const [{ from, before }, limit, order] = page;
  const values = [from, before, limit, ...(isTyped ? [types.map(toKey)] : [])];
  const text = ordered.replaceAll('DIRECTION', order === 'newest' ? 'DESC' : 'ASC');
  const found = await rows<{ seq: number | null }>({ text, values });
  const seqs = found.flatMap(({ seq }) => seq ?? []);
  if (seqs.length === found.length) return seqs;
  // The queue has all of them.
  return isTyped ? inStates(rows, t, states, undefined, ...page) : null;
}

/** What may be claimed of some types stands by its endpoint, its type and by when it is due. */
function readyOfTypes(t: Tables): string {
  const ready = 'lease_until_ms IS NULL AND NOT parked';
  return `
    SELECT few.seq FROM (${distinctEndpoints(t.queue, ready, 'endpoint, type')}) AS lane
      CROSS JOIN unnest($4::text[]) AS wanted (type)
      CROSS JOIN LATERAL (
        SELECT seq FROM ${t.queue} AS queue
        WHERE ${ready} AND queue.endpoint = lane.endpoint AND queue.type = wanted.type LIMIT ${SORTED + 1}
      ) AS few
    LIMIT ${SORTED + 1}`;
}

/** The terms of events up to this `seq` are in the index, for SELECT. */
export function selectIndexed(t: Tables): string {
  return `coalesce((SELECT first - 1 FROM ${t.unindexed} ORDER BY first LIMIT 1), ${Number.MAX_SAFE_INTEGER})`;
}

/** The times at which the first events of each range were received. */
async function receivedIn(
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
