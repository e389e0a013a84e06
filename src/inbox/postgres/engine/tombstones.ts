import type { Tombstones } from '../../rules/engine.ts';
import { asked } from '../../rules/steps.ts';
import type { Scope } from '../../work.ts';
import { fromText, toText } from '../driver/values.ts';
import type { Scene } from './scene.ts';
import { distinctEndpoints } from './takers.ts';

export function tombstones(scene: Scene): Omit<Tombstones, 'timeSlice'> {
  const { session, t, moves } = scene;
  const run = (text: string, values: readonly unknown[]) => asked(session.run(text, values).then(() => {}));
  return {
    prunable: (endpoints, before, limit) => asked(prunable(scene, endpoints, before, limit)),
    bodyOf: (seq) =>
      asked(
        session
          .row<{ body: Buffer | null }>(`SELECT body FROM ${t.events} WHERE seq = $1`, [seq])
          .then((row) => row?.body ?? new Uint8Array()),
      ),
    prune: (seq, hash) => run(moves.prune, [seq, hash]),
    pruneErrors: (seq) =>
      run(
        `UPDATE ${t.attempts} SET prunable = false, error_message = NULL, error_stack = NULL
         WHERE seq = $1 AND (prunable OR error_name IS NOT NULL)`,
        [seq],
      ),
    forgetConflict: (seq) => run(`DELETE FROM ${t.conflicts} WHERE seq = $1`, [seq]),
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
    const rows = await session.rows<{ seq: number }>(
      `SELECT seq FROM ${t.attempts} WHERE prunable AND endpoint = $1 AND ended_ms < $2 ORDER BY ended_ms, seq LIMIT $3
       FOR UPDATE SKIP LOCKED`,
      [toText(endpoint), before, limit - seqs.length],
    );
    seqs.push(...rows.map(({ seq }) => seq));
    if (seqs.length >= limit) break;
  }
  return seqs;
}

async function prunableEndpoints({ session, t }: Scene): Promise<readonly string[]> {
  const rows = await session.rows<{ endpoint: string }>(
    distinctEndpoints(t.attempts, 'prunable', 'endpoint, ended_ms'),
  );
  return rows.map(({ endpoint }) => fromText(endpoint));
}
