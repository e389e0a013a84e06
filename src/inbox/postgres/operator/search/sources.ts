import type { Source, Sources } from '../../../operator/finding/candidates.ts';
import { answer, asked } from '../../../rules/steps.ts';
import type { EventState } from '../../../state.ts';
import type { Session } from '../../driver/session.ts';
import { toText } from '../../driver/values.ts';
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
    inStates: (states) => inStates(session, t, states),
  };
}

function onShelf(state: 'dead' | 'ignored'): string {
  return `state || '' = '${state}'`;
}

/** In one statement, since processors move events from one place to the other. */
function inStates(session: Session, t: Tables, states: readonly EventState[]): Source {
  if (states.includes('processed')) return () => answer(null);
  const part = (table: string, order: string, where: string): string => `
    (SELECT seq FROM ${table} WHERE ${order} >= $1 AND ${order} < $2 AND ${where} ORDER BY ${order} DESC LIMIT $3)`;
  const parts: string[] = [];
  const isQueued = states.includes('pending');
  if (isQueued) parts.push(part(t.queue, 'seq', 'true'));
  // There are as many as handlers that run now.
  const leased = !isQueued && states.includes('processing');
  if (leased) parts.push('SELECT seq FROM leased WHERE seq >= $1 AND seq < $2');
  for (const state of ['dead', 'ignored'] as const) {
    if (states.includes(state)) parts.push(part(t.shelf, 'seq + 0', onShelf(state)));
  }
  if (parts.length === 0) return () => answer([]);

  const limit = leased ? SORTED + 1 : 0;
  const text = `
    WITH leased AS MATERIALIZED (SELECT seq FROM ${t.queue} WHERE lease_until_ms IS NOT NULL LIMIT ${limit})
    SELECT seq, (SELECT count(*) FROM leased) > ${SORTED} AS too_many FROM (${parts.join(' UNION ALL ')}) AS found
    ORDER BY seq DESC LIMIT $3`;
  async function find(from: number, before: number, most: number): Promise<readonly number[] | null> {
    const rows = await session.rows<{ seq: number; too_many: boolean }>(text, [from, before, most]);
    return rows.some((row) => row.too_many) ? null : rows.map(({ seq }) => seq);
  }
  return ({ from, before }, most) => asked(find(from, before, most));
}
