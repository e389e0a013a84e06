import type { Died, FailureSpan, Index, SearchTables } from '../../../operator/finding/candidates.ts';
import { inOrder, type SeqOrder, type SeqRange } from '../../../operator/finding/seq-ranges.ts';
import type { FoundName } from '../../../operator/search.ts';
import { entityTerm } from '../../../rules/search-words.ts';
import { putAwayStates, type EventState, type PutAwayState } from '../../../state.ts';
import type { Asking } from './received-times.ts';
import { distinctEndpoints } from '../../engine/takers.ts';
import { toKey } from '../../sql/keys.ts';
import type { Tables } from '../../sql/tables.ts';
import { extentOf, receivedIn } from './received-times.ts';

/** At most so many are put in the order of a page, of an index that has another order. */
const SORTED = 5_000;

/** Lists events of an index; `null` if there are too many to put them in this order. */
type Listing = (range: SeqRange, limit: number, order: SeqOrder) => Promise<readonly number[] | null>;

/** The indexes of a schema, for one transaction. */
export function searchTables(session: Asking, t: Tables): SearchTables {
  return {
    // A third of the statements of halving, for little more than twice the rows.
    samplesAtOnce: 7,
    extent: () => extentOf(session, t),
    receivedIn: (ranges, limit) => receivedIn(session, t, ranges, limit),
    list: (parts, limit, order) =>
      Promise.all(parts.map(({ index, range }) => listingOf(session, t, index)(range, limit, order))),
    async count({ index, range: { from, before } }, most) {
      if (index.of === 'everything') {
        const events = `SELECT 1 FROM ${t.events} WHERE seq >= $1 AND seq < $2 ORDER BY seq LIMIT $3`;
        return countOf(session, events, [from, before, most]);
      }
      if (index.of === 'died') return countOf(session, died(t), diedValues(index.span, null, most));
      return (await listingOf(session, t, index)({ from, before }, most, 'newest'))?.length ?? null;
    },
    diedBefore: (...given) => diedBefore(session, t, ...given),
    namesBeginning: (...given) => namesBeginning(session, t, ...given),
  };
}

/**
 * A partial index is asked for in its own words, and in an order that no other has: where the statistics say that a table is
 * small, Postgres would go through all of it by its `seq`.
 */
function listingOf(session: Asking, t: Tables, index: Index): Listing {
  const listing = (text: (direction: 'ASC' | 'DESC') => string, ...values: readonly unknown[]): Listing => {
    return async ({ from, before }, limit, order) => {
      const rows = await session.rows<{ seq: number }>(text(direction(order)), [from, before, limit, ...values]);
      return rows.map(({ seq }) => seq);
    };
  };
  /** @param place - the name of `seq` in the index */
  const from = (table: string, where: string, place = 'seq', ...values: readonly unknown[]): Listing =>
    listing(
      (to) => `
        SELECT seq FROM ${table} WHERE ${place} >= $1 AND ${place} < $2 AND ${where} ORDER BY ${place} ${to} LIMIT $3`,
      ...values,
    );

  switch (index.of) {
    case 'everything':
      return from(t.events, 'true');
    case 'term':
      return from(t.terms, 'term = $4', 'seq', toKey(index.term));
    case 'ids':
      return listing(
        (to) => `
        WITH named AS MATERIALIZED (SELECT seq FROM ${t.events} WHERE id = ANY($4::text[]))
        SELECT seq FROM named WHERE seq >= $1 AND seq < $2 ORDER BY seq ${to} LIMIT $3`,
        index.ids,
      );
    case 'group': {
      const place = '(coalesce(fingerprint, dead_reason), seq)';
      return listing(
        (to) => `
        SELECT seq FROM ${t.shelf}
        WHERE state = 'dead' AND NOT pruned AND ${place} >= ($4::text, $1::bigint) AND ${place} < ($4::text, $2::bigint)
        ORDER BY coalesce(fingerprint, dead_reason) ${to}, seq ${to} LIMIT $3`,
        index.fingerprint,
      );
    }
    case 'state':
      return from(t.shelf, onShelf(index.state), 'seq + 0');
    case 'retrying':
      return from(t.queue, 'lease_until_ms IS NULL AND failures > 0', 'seq + 0');
    case 'died':
      return async ({ from, before }, limit, order) => {
        const rows = await diedBefore(session, t, index.span, null, SORTED + 1);
        if (rows.length > SORTED) return null;
        const within = rows.map(({ seq }) => seq).filter((seq) => seq >= from && seq < before);
        return inOrder(within, order).slice(0, limit);
      };
    case 'conflict':
      return from(t.conflicts, 'true');
    case 'redelivered':
      return from(t.redeliveries, 'true');
    case 'bulk':
      return listing(
        (to) => `
        SELECT seq FROM ${t.bulk_events} WHERE bulk = $4 AND seq >= $1 AND seq < $2 AND result = 'done'
        ORDER BY bulk ${to}, seq ${to} LIMIT $3`,
        index.id,
      );
    case 'states':
      return inStates(session, t, index.states, index.types);
  }
}

function direction(order: SeqOrder): 'ASC' | 'DESC' {
  return order === 'newest' ? 'DESC' : 'ASC';
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

function diedValues(span: FailureSpan, place: Died | null, limit: number): readonly unknown[] {
  return [span.from, place?.settledMs ?? span.before, place?.seq ?? 0, limit];
}

async function diedBefore(
  session: Asking,
  t: Tables,
  ...given: Parameters<typeof diedValues>
): Promise<readonly Died[]> {
  const rows = await session.rows<{ seq: number; settled_ms: number }>(died(t), diedValues(...given));
  return rows.map(({ seq, settled_ms: settledMs }) => ({ seq, settledMs }));
}

async function countOf(session: Asking, events: string, values: readonly unknown[]): Promise<number> {
  const counted = `SELECT count(*) AS count FROM (${events}) AS events`;
  return (await session.row<{ count: number }>(counted, values))?.count ?? 0;
}

/** As `shelf_by_state` has it. */
export function onShelf(state: PutAwayState): string {
  return `state || '' = '${state}'`;
}

/** In one statement, since processors move events from one place to the other; `null` where one of them cannot. */
function inStates(
  session: Asking,
  t: Tables,
  states: readonly EventState[],
  types: readonly string[] | undefined,
): Listing {
  if (states.includes('processed')) return async () => null;
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
  if (parts.length === 0) return async () => [];

  const ordered = `
    WITH leased AS MATERIALIZED (
      SELECT seq FROM ${t.queue} WHERE lease_until_ms IS NOT NULL AND NOT processed LIMIT ${isLeased ? SORTED + 1 : 0}
    ), ready AS MATERIALIZED (${isTyped ? readyOfTypes(t) : 'SELECT NULL::bigint AS seq LIMIT 0'})
    (SELECT seq FROM (${parts.join(' UNION ALL ')}) AS found ORDER BY seq DIRECTION LIMIT $3)
    UNION ALL
    SELECT NULL WHERE (SELECT count(*) FROM leased) > ${SORTED} OR (SELECT count(*) FROM ready) > ${SORTED}`;
  const wanted = isTyped ? [types.map(toKey)] : [];
  return async ({ from, before }, limit, order) => {
    const values = [from, before, limit, ...wanted];
    const text = ordered.replaceAll('DIRECTION', direction(order));
    const rows = await session.rows<{ seq: number | null }>(text, values);
    const seqs = rows.flatMap(({ seq }) => seq ?? []);
    if (seqs.length === rows.length) return seqs;
    // The queue has all of them.
    return isTyped ? inStates(session, t, states, undefined)({ from, before }, limit, order) : null;
  };
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

/**
 * One step through an index for each name, however many events have it. Of names that are too long for it the index has only
 * hashes.
 */
async function namesBeginning(
  session: Asking,
  t: Tables,
  kind: FoundName['what'],
  text: string,
  limit: number,
): Promise<readonly string[]> {
  const [table, column] = kind === 'id' ? [t.events, 'id'] : [t.terms, 'term'];
  const next = (where: string): string =>
    `SELECT ${column} AS name FROM ${table} WHERE ${column} ${where} ORDER BY ${column} LIMIT 1`;
  const begin = kind === 'id' ? '' : kind === 'entity' ? entityTerm('') : 'merchant ';
  const rows = await session.rows<{ name: string }>(
    `WITH RECURSIVE names AS (
       (${next('>= $1')})
       UNION ALL
       SELECT next.name FROM names CROSS JOIN LATERAL (${next('> names.name')}) AS next
     ) SELECT name FROM names LIMIT $2`,
    [begin + text, limit],
  );
  return rows
    .map(({ name }) => name)
    .filter((name) => name.startsWith(begin + text))
    .map((name) => name.slice(begin.length));
}
