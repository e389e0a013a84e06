import type { EventKey } from '../../../event.ts';
import { actedColumns, actedInOrder, actedRow, selectActed, type ActedColumns } from '../../../operator/summaries.ts';
import type { ActedRow } from '../../../rules/acts.ts';
import type { Scene } from '../../engine/scene.ts';
import { places } from '../../sql/records.ts';
import { rowOf, type Tables } from '../../sql/tables.ts';
import { postgres } from '../operator-tables.ts';

type Place = Pick<Scene, 'session' | 't'>;

/** Events by their keys, in the order of these. No other transaction moves or prunes them until this one ends. */
export async function heldByKey(scene: Scene, keys: readonly EventKey[]): Promise<readonly (ActedRow | null)[]> {
  const { session, t, locks } = scene;
  await locks.takeOfKeys(keys);
  const given = valuesOf(keys);
  await keepUnpruned(scene, `ARRAY(SELECT events.seq FROM ${eventsOfKeys(t)})`, given);
  const text = `SELECT ${actedColumns(postgres(t))} FROM ${eventsOfKeys(t)} ${places(t)}`;
  const rows = await session.rows<ActedColumns>(text, given);
  const found = new Map(rows.map(actedRow).map((row) => [nameOf(row), row]));
  await shelveLost(scene, [...found.values()]);
  return keys.map((key) => found.get(nameOf(key)) ?? null);
}

/** `heldByKey`, for events by their numbers. */
export async function heldBySeq(scene: Scene, seqs: readonly number[]): Promise<readonly (ActedRow | null)[]> {
  if (seqs.length === 0) return [];
  await scene.locks.takeOfSeqs(seqs);
  await keepUnpruned(scene, '$1::bigint[]', [seqs]);
  const { text, values } = selectActed(postgres(scene.t), seqs);
  const rows = actedInOrder(seqs, await scene.session.rows(text, values));
  await shelveLost(
    scene,
    rows.filter((row) => row !== null),
  );
  return rows;
}

export async function readBodies(
  { session, t }: Place,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, Uint8Array>> {
  if (seqs.length === 0) return new Map();
  const text = `SELECT seq, body FROM ${t.events} WHERE seq = ANY($1::bigint[]) AND body IS NOT NULL`;
  const rows = await session.rows<{ seq: number; body: Buffer }>(text, [seqs]);
  return new Map(rows.map(({ seq, body }) => [seq, body]));
}

/** The bodies of these events together. */
export async function bytesOf({ session, t }: Place, keys: readonly EventKey[]): Promise<number> {
  const text = `SELECT coalesce(sum(octet_length(events.body)), 0)::bigint AS bytes FROM ${eventsOfKeys(t)}`;
  return (await session.row<{ bytes: number }>(text, valuesOf(keys)))?.bytes ?? 0;
}

/** Moves lost events to the shelf, where later actions find them. */
async function shelveLost({ session, moves }: Scene, rows: readonly ActedRow[]): Promise<void> {
  const dead = rows.filter(({ state }) => state === 'dead').map(({ seq }) => seq);
  if (dead.length > 0) await session.run(moves.shelveLost, [dead]);
}

/** Pruning locks what says that a processed event may be pruned, and nothing else of it. */
export async function keepUnpruned({ session, t }: Place, seqs: string, values: readonly unknown[]): Promise<void> {
  const of = `WHERE prunable AND seq = ANY(${seqs}) ORDER BY seq`;
  await session.rows(`SELECT 1 FROM ${t.attempts} ${of}, number FOR UPDATE`, values);
  await session.rows(`SELECT 1 FROM ${t.imported} ${of} FOR UPDATE`, values);
}

function eventsOfKeys(t: Tables): string {
  const event = rowOf(t.events, 'events', 'found.id = given.id AND found.endpoint = given.endpoint');
  return `unnest($1::text[], $2::text[]) AS given (id, endpoint) CROSS JOIN ${event}`;
}

function valuesOf(keys: readonly EventKey[]): readonly unknown[] {
  return [keys.map(({ id }) => id), keys.map(({ endpoint }) => endpoint)];
}

function nameOf({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}
