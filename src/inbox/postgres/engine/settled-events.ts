import type { EventKey } from '../../event.ts';
import type { Content, EventToRerun } from '../../rules/rerun-event.ts';
import type { SizedEvent } from '../../rules/store.ts';
import type { EventState } from '../../state.ts';
import type { Scope } from '../../work.ts';
import { keyOrNull } from '../sql/keys.ts';
import { joined, LOST, STATE } from '../sql/records.ts';
import { slotOf } from '../sql/slots.ts';
import type { Tables } from '../sql/tables.ts';
import type { Scene } from './scene.ts';
import { distinctEndpoints } from './handled-types.ts';

interface RowToRerun {
  readonly seq: number;
  readonly state: EventState;
  readonly pruned: boolean;
  readonly as_read: boolean;
  readonly lost: boolean;
}

/** Locks the slot of the event. */
export async function eventToRerun(
  { session, t, moves, locks }: Scene,
  key: EventKey,
  readFrom: Uint8Array | undefined,
): Promise<EventToRerun | undefined> {
  await locks.takeOfKeys([key]);
  const row = await session.row<RowToRerun>(
    `SELECT events.seq, ${STATE}, events.body IS NULL AS pruned, ${LOST} AS lost,
       $3::bytea IS NULL OR events.body IS NOT DISTINCT FROM $3::bytea AS as_read
     FROM ${joined(t)} WHERE events.id = $1 AND events.endpoint = $2`,
    [key.id, key.endpoint, readFrom === undefined ? null : Buffer.from(readFrom)],
  );
  if (row?.lost === true) await session.run(moves.shelveLost, [[row.seq]]);
  return row && { state: row.state, isPruned: row.pruned, isAsRead: row.as_read };
}

export async function toPending(
  { session, t, moves, locks, index }: Scene,
  { endpoint, id }: EventKey,
  { type, created, entity }: Content,
  now: number,
): Promise<void> {
  const found = await session.row<{ seq: number; entity: string | null }>(
    `SELECT seq, entity FROM ${t.events} WHERE id = $1 AND endpoint = $2`,
    [id, endpoint],
  );
  if (found === undefined) return;
  const { seq } = found;
  const slot = slotOf(endpoint, entity, id);
  // It joins the queue of another entity, should it get one only now.
  await locks.take([slot]);
  const about = [type, created?.ms ?? null, created?.ns ?? null, entity, slot];
  await session.run(
    moves.describeMany,
    [seq, ...about].map((value) => [value]),
  );
  // An invalid event has got its entity only now.
  if (entity !== found.entity) await index.add(session, t, seq);
  await session.run(moves.unshelve, [[seq], [keyOrNull(type)], [keyOrNull(entity)], now, false, true, 'manual']);
}

/** Processed events with a body that no other transaction prunes. One look through an index for each endpoint. */
export async function prunable(
  { session, t }: Scene,
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
      `SELECT old.seq, (SELECT octet_length(body) FROM ${t.events} WHERE seq = old.seq) AS bytes
       FROM (SELECT endpoint FROM ${named}) AS named CROSS JOIN LATERAL (
         SELECT seq FROM ${table} WHERE prunable AND endpoint = named.endpoint AND ${time} < $1
         ORDER BY ${time}, seq LIMIT $2 FOR UPDATE SKIP LOCKED
       ) AS old LIMIT $2`,
      [before, limit - found.length, ...(endpoints === '*' ? [] : [endpoints])],
    );
    found.push(...rows.map(({ seq, bytes }) => ({ seq, bytes: bytes ?? 0 })));
    if (found.length >= limit) break;
  }
  return found;
}

/** The tables that know which processed events have a body, and since when. */
export function prunableIn(t: Tables): readonly (readonly [table: string, time: string])[] {
  return [
    [t.attempts, 'ended_ms'],
    [t.imported, 'settled_ms'],
  ];
}

/** Where processed events have bodies. */
export async function prunableEndpoints({ session, t }: Pick<Scene, 'session' | 't'>): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const [table, time] of prunableIn(t)) {
    const rows = await session.rows<{ endpoint: string }>(distinctEndpoints(table, 'prunable', `endpoint, ${time}`));
    for (const { endpoint } of rows) found.add(endpoint);
  }
  return [...found];
}
