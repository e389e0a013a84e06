import type { Source, Sources } from '../../../operator/finding/candidates.ts';
import { answer, asked } from '../../../rules/steps.ts';
import type { EventState } from '../../../state.ts';
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
export function sources(session: Session, t: Tables): Sources {
  const found = (text: string, values: readonly unknown[]) =>
    asked(session.rows<{ seq: number }>(text, values).then((rows) => rows.map(({ seq }) => seq)));

  /** @param order - what the index has for `seq` */
  const from = (table: string, where: string, order = 'seq', values: readonly unknown[] = []): Source => {
    const text = `
      SELECT seq FROM ${table} WHERE ${order} >= $1 AND ${order} < $2 AND ${where} ORDER BY ${order} DESC LIMIT $3`;
    return ({ from: first, before }, limit) => found(text, [first, before, limit, ...values]);
  };

  return {
    everything: from(t.events, 'true'),
    withTerm: (term) => from(t.terms, 'term = $4', 'seq', [toKey(term)]),
    // An id has an event for each endpoint.
    withId(id) {
      const text = `
        WITH named AS MATERIALIZED (SELECT seq FROM ${t.events} WHERE id = $4)
        SELECT seq FROM named WHERE seq >= $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`;
      return ({ from: first, before }, limit) => found(text, [first, before, limit, toText(id)]);
    },
    ofGroup(fingerprint) {
      const place = '(coalesce(fingerprint, dead_reason), seq)';
      const text = `
        SELECT seq FROM ${t.shelf}
        WHERE state = 'dead' AND NOT pruned AND ${place} >= ($4::text, $1::bigint) AND ${place} < ($4::text, $2::bigint)
        ORDER BY coalesce(fingerprint, dead_reason) DESC, seq DESC LIMIT $3`;
      return ({ from: first, before }, limit) => found(text, [first, before, limit, toText(fingerprint)]);
    },
    putAway: (state) => from(t.shelf, onShelf(state), 'seq + 0'),
    retrying: from(t.queue, 'lease_until_ms IS NULL AND failures > 0', 'seq + 0'),
    withConflict: from(t.conflicts, 'true'),
    redelivered: from(t.redeliveries, 'true'),
    inStates: (states, types) => inStates(session, t, states, types),
  };
}

function onShelf(state: 'dead' | 'ignored'): string {
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
  const part = (table: string, order: string, where: string): string => `
    (SELECT seq FROM ${table} WHERE ${order} >= $1 AND ${order} < $2 AND ${where} ORDER BY ${order} DESC LIMIT $3)`;
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
  for (const state of ['dead', 'ignored'] as const) {
    if (states.includes(state)) parts.push(part(t.shelf, 'seq + 0', onShelf(state)));
  }
  if (parts.length === 0) return () => answer([]);

  const text = `
    WITH leased AS MATERIALIZED (
      SELECT seq FROM ${t.queue} WHERE lease_until_ms IS NOT NULL LIMIT ${isLeased ? SORTED + 1 : 0}
    ), ready AS MATERIALIZED (${isTyped ? readyOfTypes(t) : 'SELECT NULL::bigint AS seq LIMIT 0'})
    (SELECT seq FROM (${parts.join(' UNION ALL ')}) AS found ORDER BY seq DESC LIMIT $3)
    UNION ALL
    SELECT NULL WHERE (SELECT count(*) FROM leased) > ${SORTED} OR (SELECT count(*) FROM ready) > ${SORTED}`;
  const wanted = isTyped ? [types.map(toKey)] : [];
  return function* ({ from, before }, limit) {
    const values = [from, before, limit, ...wanted];
    const rows = yield* asked(session.rows<{ seq: number | null }>(text, values));
    const seqs = rows.flatMap(({ seq }) => seq ?? []);
    if (seqs.length === rows.length) return seqs;
    // The queue has all of them.
    return isTyped ? yield* inStates(session, t, states, undefined)({ from, before }, limit) : null;
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
