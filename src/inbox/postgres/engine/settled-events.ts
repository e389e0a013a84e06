import type { EventKey } from '../../event.ts';
import type { Content, EventToRerun } from '../../rules/decide-act.ts';
import type { SizedEvent } from '../../rules/store.ts';
import type { Scope } from '../../work.ts';
import { contentColumns, joined, LOST, STATE } from '../sql/records.ts';
import { slotOf, type Tables } from '../sql/tables.ts';
import { distinctEndpoints } from './due-events.ts';
import type { Reading, Transaction } from './transaction.ts';

export async function eventToRerun(
  { session, t, moves, locks }: Transaction,
  key: EventKey,
  readFrom: Uint8Array | undefined,
): Promise<(EventToRerun & Rerun['event']) | undefined> {
  await locks.takeOfKeys([key]);
  const row = await session.row<EventToRerun & { readonly seq: number; readonly lost: boolean }>(
    `SELECT events.seq, events.entity, ${STATE}, events.body IS NULL AS "isPruned", ${LOST} AS lost,
       $3::bytea IS NULL OR events.body IS NOT DISTINCT FROM $3::bytea AS "isAsRead"
     FROM ${joined(t)} WHERE events.id = $1 AND events.endpoint = $2`,
    [key.id, key.endpoint, readFrom ?? null],
  );
  if (row?.lost === true) await session.run(moves.shelveLost([row.seq]));
  return row && { ...row, id: key.id, endpoint: key.endpoint };
}

export interface Rerun {
  readonly event: EventKey & { readonly seq: number; readonly entity: string | null };
  readonly content: Content;
}

/** The caller has locked the slots. */
export async function toPending(transaction: Transaction, reruns: readonly Rerun[], now: number): Promise<void> {
  const { session, t, moves, locks, index } = transaction;
  const rows = reruns.map(({ event: { seq, endpoint, id }, content }) => ({
    seq,
    ...contentColumns(content),
    slot: slotOf(endpoint, content.entity, id),
  }));
  const named = reruns.filter(({ event, content }) => event.entity !== content.entity);
  // An invalid event gets its entity only now, and moves to that queue.
  if (named.length > 0) await locks.take(rows.map(({ slot }) => slot));
  await Promise.all([session.run(moves.describeMany(rows)), session.run(moves.unshelveMany(rows, now))]);
  for (const { event } of named) await index.add({ session, t }, event.seq);
}

/** Excludes events that another transaction prunes. One index search per endpoint. */
export async function prunable(
  { session, t }: Reading,
  endpoints: Scope['endpoints'],
  before: number,
  limit: number,
): Promise<readonly SizedEvent[]> {
  const found: SizedEvent[] = [];
  for (const [table, time] of prunableIn(t)) {
    const named =
      endpoints === '*'
        ? `(${distinctEndpoints(table, 'prunable', `endpoint, ${time}`)})`
        : 'unnest($3::text[]) AS given (endpoint)';
    const rows = await session.rows<SizedEvent>(
      `SELECT old.seq, coalesce((SELECT octet_length(body) FROM ${t.events} WHERE seq = old.seq), 0) AS bytes
       FROM (SELECT endpoint FROM ${named}) AS named CROSS JOIN LATERAL (
         SELECT seq FROM ${table} WHERE prunable AND endpoint = named.endpoint AND ${time} < $1
         ORDER BY ${time}, seq LIMIT $2 FOR UPDATE SKIP LOCKED
       ) AS old LIMIT $2`,
      [before, limit - found.length, ...(endpoints === '*' ? [] : [endpoints])],
    );
    found.push(...rows);
    if (found.length >= limit) break;
  }
  return found;
}

/** These tables show which processed events have a body, and since when. */
export function prunableIn(t: Tables): readonly (readonly [table: string, time: string])[] {
  return [
    [t.attempts, 'ended_ms'],
    [t.imported, 'settled_ms'],
  ];
}
