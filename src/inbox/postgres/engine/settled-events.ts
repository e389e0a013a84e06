import type { EventKey, EventState } from '../../event.ts';
import type { Content, EventToRerun } from '../../rules/operator-acts.ts';
import type { Scope } from '../../work.ts';
import type { SizedEvent } from '../../rules/store.ts';
import { keyOrNull, slotOf, type Tables } from '../sql/tables.ts';
import { joined, LOST, STATE } from '../sql/records.ts';
import type { Scene } from './transaction.ts';
import { distinctEndpoints } from './due-events.ts';

interface RowToRerun {
  readonly seq: number;
  readonly entity: string | null;
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
): Promise<(EventToRerun & Rerun['event']) | undefined> {
  await locks.takeOfKeys([key]);
  const row = await session.row<RowToRerun>(
    `SELECT events.seq, events.entity, ${STATE}, events.body IS NULL AS pruned, ${LOST} AS lost,
       $3::bytea IS NULL OR events.body IS NOT DISTINCT FROM $3::bytea AS as_read
     FROM ${joined(t)} WHERE events.id = $1 AND events.endpoint = $2`,
    [key.id, key.endpoint, readFrom === undefined ? null : Buffer.from(readFrom)],
  );
  if (row === undefined) return undefined;
  const { seq, entity, state, pruned, as_read: isAsRead, lost } = row;
  if (lost) await session.run(moves.shelveLost, [[seq]]);
  return { id: key.id, endpoint: key.endpoint, seq, entity, state, isPruned: pruned, isAsRead };
}

/** An event of the shelf, and what its body says today. */
export interface Rerun {
  readonly event: EventKey & { readonly seq: number; readonly entity: string | null };
  readonly content: Content;
}

/** Makes events pending again, whose slots are locked. */
export async function toPending(scene: Scene, reruns: readonly Rerun[], now: number): Promise<void> {
  const { session, t, moves, locks, index } = scene;
  const seqs = reruns.map(({ event }) => event.seq);
  const contents = reruns.map(({ content }) => content);
  const slots = reruns.map(({ event, content }) => slotOf(event.endpoint, content.entity, event.id));
  const named = reruns.filter(({ event, content }) => event.entity !== content.entity);
  // An invalid event gets its entity only now, and joins the queue of that.
  if (named.length > 0) await locks.take(slots);
  await Promise.all([
    session.run(moves.describeMany, [
      seqs,
      contents.map(({ type }) => type),
      contents.map(({ created }) => created?.ms ?? null),
      contents.map(({ created }) => created?.ns ?? null),
      contents.map(({ entity }) => entity),
      slots,
    ]),
    session.run(moves.unshelveMany, [
      seqs,
      contents.map(({ type }) => keyOrNull(type)),
      contents.map(({ entity }) => keyOrNull(entity)),
      now,
    ]),
  ]);
  for (const { event } of named) await index.add(session, t, event.seq);
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
