import type { Tombstones } from '../../rules/engine.ts';
import { asked, DONE } from '../../rules/steps.ts';
import type { Scope } from '../../work.ts';
import { fromText, toText } from '../driver/values.ts';
import type { Tables } from '../sql/tables.ts';
import type { Scene } from './scene.ts';
import { distinctEndpoints } from './takers.ts';

export function tombstones(scene: Scene): Omit<Tombstones, 'timeSlice'> {
  const { session, t, writes } = scene;
  return {
    prunable: (endpoints, before, limit) => asked(prunable(scene, endpoints, before, limit)),
    bodyOf: (seq) =>
      asked(
        session
          .row<{ body: Buffer | null }>(`SELECT body FROM ${t.events} WHERE seq = $1`, [seq])
          .then((row) => row?.body ?? new Uint8Array()),
      ),
    prune(seq, hash) {
      writes.prune(seq, hash);
      return DONE;
    },
    pruneErrors(seq) {
      writes.pruneErrors(seq);
      return DONE;
    },
    forgetConflict(seq) {
      writes.forgetConflict(seq);
      return DONE;
    },
  };
}

/** Those that nobody else prunes just now. */
async function prunable(
  scene: Scene,
  endpoints: Scope['endpoints'],
  before: number,
  limit: number,
): Promise<readonly number[]> {
  const { session, t } = scene;
  const seqs: number[] = [];
  for (const endpoint of endpoints === '*' ? await prunableEndpoints(scene) : endpoints) {
    for (const [table, time] of prunableIn(t)) {
      const rows = await session.rows<{ seq: number }>(
        `SELECT seq FROM ${table} WHERE prunable AND endpoint = $1 AND ${time} < $2 ORDER BY ${time}, seq LIMIT $3
         FOR UPDATE SKIP LOCKED`,
        [toText(endpoint), before, limit - seqs.length],
      );
      seqs.push(...rows.map(({ seq }) => seq));
      if (seqs.length >= limit) return seqs;
    }
  }
  return seqs;
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
    for (const { endpoint } of rows) found.add(fromText(endpoint));
  }
  return [...found];
}
