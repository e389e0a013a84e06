import type { Source, Sources } from '../../../operator/finding/candidates.ts';
import { inOrder, type SeqOrder } from '../../../operator/finding/seq-ranges.ts';
import type { Amounts, Deaths, Died } from '../../../operator/finding/candidates.ts';
import { answer, asked } from '../../../rules/steps.ts';
import { putAwayStates, type EventState, type PutAwayState } from '../../../state.ts';
import type { Session } from '../../driver/session.ts';
import { toText } from '../../driver/values.ts';
import { distinctEndpoints } from '../../engine/takers.ts';
import { toKey } from '../../sql/keys.ts';
import type { Tables } from '../../sql/tables.ts';

/** No more than this is put in order for a page, of what an index has in another one. */
const SORTED = 5_000;

/**
 * The indexes of a schema. What a partial one has is asked for in its own words, and in an order that no other has: where the
 * statistics say that a table is small, Postgres would go through all of it by its `seq`.
 */
export function sources(session: Session, t: Tables): Sources & Deaths & Amounts {
  const found = (text: string, values: readonly unknown[]) =>
    asked(session.rows<{ seq: number }>(text, values).then((rows) => rows.map(({ seq }) => seq)));

  /** @param place - what the index has for `seq` */
  const from = (table: string, where: string, place = 'seq', values: readonly unknown[] = []): Source => {
    return ({ from: first, before }, limit, order) => {
      const text = `
        SELECT seq FROM ${table} WHERE ${place} >= $1 AND ${place} < $2 AND ${where}
        ORDER BY ${place} ${direction(order)} LIMIT $3`;
      return found(text, [first, before, limit, ...values]);
    };
  };

  return {
    everything: from(t.events, 'true'),
    withTerm: (term) => from(t.terms, 'term = $4', 'seq', [toKey(term)]),
    // An id has an event for each endpoint.
    withId(id) {
      const text = (order: SeqOrder): string => `
        WITH named AS MATERIALIZED (SELECT seq FROM ${t.events} WHERE id = $4)
        SELECT seq FROM named WHERE seq >= $1 AND seq < $2 ORDER BY seq ${direction(order)} LIMIT $3`;
      return ({ from: first, before }, limit, order) => found(text(order), [first, before, limit, toText(id)]);
    },
    ofGroup(fingerprint) {
      const place = '(coalesce(fingerprint, dead_reason), seq)';
      const text = (order: SeqOrder): string => `
        SELECT seq FROM ${t.shelf}
        WHERE state = 'dead' AND NOT pruned AND ${place} >= ($4::text, $1::bigint) AND ${place} < ($4::text, $2::bigint)
        ORDER BY coalesce(fingerprint, dead_reason) ${direction(order)}, seq ${direction(order)} LIMIT $3`;
      return ({ from: first, before }, limit, order) => found(text(order), [first, before, limit, toText(fingerprint)]);
    },
    putAway: (state) => from(t.shelf, onShelf(state), 'seq + 0'),
    retrying: from(t.queue, 'lease_until_ms IS NULL AND failures > 0', 'seq + 0'),
    diedIn: (span) =>
      function* ({ from: first, before }, limit, order) {
        const rows = yield* asked(diedBefore(session, t, span, null, SORTED + 1));
        if (rows.length > SORTED) return null;
        const within = rows.map(({ seq }) => seq).filter((seq) => seq >= first && seq < before);
        return inOrder(within, order).slice(0, limit);
      },
    diedBefore: (...given) => asked(diedBefore(session, t, ...given)),
    allIn: ({ from: first, before }, most) => {
      const events = `SELECT 1 FROM ${t.events} WHERE seq >= $1 AND seq < $2 ORDER BY seq LIMIT $3`;
      return asked(amountOf(session, events, [first, before, most]));
    },
    deadOf: (span, most) => asked(amountOf(session, died(t), diedValues(span, null, most))),
    withConflict: from(t.conflicts, 'true'),
    redelivered: from(t.redeliveries, 'true'),
    ofBulk(id) {
      const text = (order: SeqOrder): string => `
        SELECT seq FROM ${t.bulk_events} WHERE bulk = $4 AND seq >= $1 AND seq < $2 AND result = 'done'
        ORDER BY bulk ${direction(order)}, seq ${direction(order)} LIMIT $3`;
      return ({ from: first, before }, limit, order) => found(text(order), [first, before, limit, id]);
    },
    inStates: (states, types) => inStates(session, t, states, types),
  };
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

function diedValues(...[span, place, limit]: Parameters<Deaths['diedBefore']>): readonly unknown[] {
  return [span.from, place?.settledMs ?? span.before, place?.seq ?? 0, limit];
}

async function diedBefore(
  session: Session,
  t: Tables,
  ...given: Parameters<Deaths['diedBefore']>
): Promise<readonly Died[]> {
  const rows = await session.rows<{ seq: number; settled_ms: number }>(died(t), diedValues(...given));
  return rows.map(({ seq, settled_ms: settledMs }) => ({ seq, settledMs }));
}

async function amountOf(session: Session, events: string, values: readonly unknown[]): Promise<number> {
  const counted = `SELECT count(*) AS count FROM (${events}) AS events`;
  return (await session.row<{ count: number }>(counted, values))?.count ?? 0;
}

/** As `shelf_by_state` has it. */
export function onShelf(state: PutAwayState): string {
  return `state || '' = '${state}'`;
}

/** In one statement, since processors move events from one place to the other; `null` where one of them cannot. */
function inStates(
  session: Session,
  t: Tables,
  states: readonly EventState[],
  types: readonly string[] | undefined,
): Source {
  if (states.includes('processed')) return () => answer(null);
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
  if (parts.length === 0) return () => answer([]);

  const ordered = `
    WITH leased AS MATERIALIZED (
      SELECT seq FROM ${t.queue} WHERE lease_until_ms IS NOT NULL AND NOT processed LIMIT ${isLeased ? SORTED + 1 : 0}
    ), ready AS MATERIALIZED (${isTyped ? readyOfTypes(t) : 'SELECT NULL::bigint AS seq LIMIT 0'})
    (SELECT seq FROM (${parts.join(' UNION ALL ')}) AS found ORDER BY seq DIRECTION LIMIT $3)
    UNION ALL
    SELECT NULL WHERE (SELECT count(*) FROM leased) > ${SORTED} OR (SELECT count(*) FROM ready) > ${SORTED}`;
  const wanted = isTyped ? [types.map(toKey)] : [];
  return function* ({ from, before }, limit, order) {
    const values = [from, before, limit, ...wanted];
    const text = ordered.replaceAll('DIRECTION', direction(order));
    const rows = yield* asked(session.rows<{ seq: number | null }>(text, values));
    const seqs = rows.flatMap(({ seq }) => seq ?? []);
    if (seqs.length === rows.length) return seqs;
    // The queue has all of them.
    return isTyped ? yield* inStates(session, t, states, undefined)({ from, before }, limit, order) : null;
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
