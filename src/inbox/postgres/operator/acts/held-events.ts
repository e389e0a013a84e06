import type { EventKey } from '../../../event.ts';
import type { ActedRow } from '../../../rules/act-on-events.ts';
import type { DeadReason, EventState } from '../../../state.ts';
import { fromText, toText } from '../../driver/values.ts';
import type { Scene } from '../../engine/scene.ts';
import { joined, places, stateToActOn } from '../../sql/records.ts';
import { rowOf, type Tables } from '../../sql/tables.ts';

/**
 * Events that nobody moves or prunes until the transaction ends, as they are then: one statement reads what a rule asks for one
 * by one.
 */
export async function held(scene: Scene, keys: readonly EventKey[]): Promise<readonly ActedRow[]> {
  await scene.locks.takeOfKeys(keys);
  const event = rowOf(scene.t.events, 'events', SAME_KEY);
  await keepUnpruned(scene, `ARRAY(SELECT events.seq FROM ${GIVEN_KEYS} CROSS JOIN ${event})`, valuesOf(keys));
  const rows = await readActed(scene, keys);
  await shelveLost(scene, rows);
  return rows;
}

/** `held`, of events by their numbers; in their order. */
export async function heldBySeq(scene: Scene, seqs: readonly number[]): Promise<readonly ActedRow[]> {
  await scene.locks.takeOfSeqs(seqs);
  await keepUnpruned(scene, '$1::bigint[]', [seqs]);
  const rows = await readBySeq(scene, seqs);
  await shelveLost(scene, rows);
  return rows;
}

/** Moves lost events to the shelf, where later actions find them. */
async function shelveLost({ session, moves }: Scene, rows: readonly ActedRow[]): Promise<void> {
  const dead = rows.filter(({ state }) => state === 'dead').map(({ seq }) => seq);
  if (dead.length > 0) await session.run(moves.shelveLost, [dead]);
}

/** Pruning locks what says that a processed event may be pruned, and nothing else of it. */
export async function keepUnpruned(
  { session, t }: Pick<Scene, 'session' | 't'>,
  seqs: string,
  values: readonly unknown[],
): Promise<void> {
  const of = `WHERE prunable AND seq = ANY(${seqs}) ORDER BY seq`;
  await session.rows(`SELECT 1 FROM ${t.attempts} ${of}, number FOR UPDATE`, values);
  await session.rows(`SELECT 1 FROM ${t.imported} ${of} FOR UPDATE`, values);
}

/** What `held` reads, of nobody's. */
export async function readActed(
  { session, t }: Pick<Scene, 'session' | 't'>,
  keys: readonly EventKey[],
): Promise<readonly ActedRow[]> {
  const rows = await session.rows<Columns>(
    `SELECT ${columns(t)} FROM ${GIVEN_KEYS} CROSS JOIN ${rowOf(t.events, 'events', SAME_KEY)} ${places(t)}`,
    valuesOf(keys),
  );
  return rows.map((row) => rowFrom(row));
}

export async function readBySeq(
  { session, t }: Pick<Scene, 'session' | 't'>,
  seqs: readonly number[],
): Promise<readonly ActedRow[]> {
  const rows = await session.rows<Columns>(
    `SELECT ${columns(t)} FROM ${joined(t)} WHERE events.seq = ANY($1::bigint[]) ORDER BY events.seq`,
    [seqs],
  );
  return rows.map((row) => rowFrom(row));
}

const GIVEN_KEYS = `unnest($1::text[], $2::text[]) AS given (id, endpoint)`;
const SAME_KEY = 'found.id = given.id AND found.endpoint = given.endpoint';

function valuesOf(keys: readonly EventKey[]): readonly unknown[] {
  return [keys.map(({ id }) => toText(id)), keys.map(({ endpoint }) => toText(endpoint))];
}

interface Columns {
  readonly seq: number;
  readonly endpoint: string;
  readonly id: string;
  readonly type: string | null;
  readonly entity: string | null;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly pruned: boolean;
  readonly erased: boolean;
  readonly due_ms: number | null;
  readonly bytes: number;
}

const columns = (t: Tables): string => `
  events.seq, events.endpoint, events.id, events.type, events.entity, ${stateToActOn(t)}, events.body IS NULL AS pruned,
  events.erased_ms IS NOT NULL AS erased, queue.due_ms,
  coalesce(octet_length(events.body), 0) AS bytes`;

function rowFrom({ endpoint, id, type, entity, dead_reason: deadReason, due_ms: dueMs, ...row }: Columns): ActedRow {
  return {
    ...row,
    endpoint: fromText(endpoint),
    id: fromText(id),
    type: type === null ? null : fromText(type),
    entity: entity === null ? null : fromText(entity),
    deadReason,
    ...(dueMs !== null && { dueMs }),
  };
}

export function nameOf({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}
