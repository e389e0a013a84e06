import { foldTypes, hasOwnType, Tally } from '../../rules/counts.ts';
import type { RunningEvent } from '../../rules/store.ts';
import type { DatabaseTime } from '../database-time.ts';
import type { Session } from '../driver/session.ts';
import { countsToAdd } from '../sql/add-counts.ts';
import { inOneStatement, type Write } from '../sql/in-one-statement.ts';
import { keyOrNull } from '../sql/keys.ts';
import type { Tables } from '../sql/tables.ts';
import type { movesOf } from '../moves.ts';
import { namedTypes } from './named-types.ts';

type Mark = Pick<RunningEvent, 'endpoint' | 'entity' | 'created'>;

/** Changes that no later statement of the same rule reads: written together, once for many events. */
export interface Writes {
  readonly counts: Tally;
  /** Events that were parked may be claimed again. */
  unpark(seqs: readonly number[]): void;
  /** Takes its body away. */
  prune(seq: number, hash: Uint8Array): void;
  pruneErrors(seq: number): void;
  forgetConflict(seq: number): void;
  /** What was counted, which is forgotten here. */
  countsToWrite(): Promise<readonly Write[]>;
  /** Before the commit. */
  flush(): Promise<void>;
}

export function writesOf(
  session: Session,
  t: Tables,
  moves: ReturnType<typeof movesOf>,
  time: Pick<DatabaseTime, 'toDatabase'>,
): Writes {
  const counts = new Tally();
  const unparked: number[] = [];
  const pruned: (readonly [number, Uint8Array])[] = [];
  const withoutErrors: number[] = [];
  const withoutConflict: number[] = [];

  async function countsToWrite(): Promise<readonly Write[]> {
    const taken = counts.take();
    if (taken.length === 0) return [];
    const counted = hasOwnType(taken) ? foldTypes(taken, await namedTypes(session, t)) : taken;
    const at = Date.now();
    return [
      countsToAdd(
        t,
        time,
        counted.map((sum) => ({ at, ...sum })),
      ),
    ];
  }

  return {
    counts,
    unpark: (seqs) => void unparked.push(...seqs),
    prune: (seq, hash) => void pruned.push([seq, hash]),
    pruneErrors: (seq) => void withoutErrors.push(seq),
    forgetConflict: (seq) => void withoutConflict.push(seq),
    countsToWrite,
    async flush() {
      const together: Write[] = [
        { text: moves.unpark, values: [unparked.splice(0)] },
        { text: pruneErrors(t), values: [withoutErrors.splice(0)] },
        {
          text: `DELETE FROM ${t.conflicts} WHERE seq = ANY($1::bigint[])`,
          values: [withoutConflict.splice(0)],
        },
      ].filter(({ values: [first] }) => Array.isArray(first) && first.length > 0);
      together.push(...(await countsToWrite()));
      const bodies = pruned.splice(0);
      const columns = [bodies.map(([seq]) => seq), bodies.map(([, hash]) => hash)];
      await Promise.all([
        // By itself, because it has a WITH.
        ...(bodies.length === 0 ? [] : [session.run(moves.prune, columns)]),
        ...(together.length === 0 ? [] : [run(session, inOneStatement(together))]),
      ]);
    },
  };
}

function run(session: Session, { text, values }: Write): Promise<number> {
  return session.run(text, values);
}

/** Takes away what the errors of events said, and leaves their names. */
export function pruneErrors(t: Tables): string {
  return `
    UPDATE ${t.attempts} SET prunable = false, error_message = NULL, error_stack = NULL, skipped = NULL
    WHERE seq = ANY($1::bigint[]) AND (prunable OR error_name IS NOT NULL OR skipped IS NOT NULL)`;
}

/** Remembers the newest processed event of each entity. */
export function marksToRaise(t: Tables, marks: readonly Mark[]): Write {
  const known = marks.flatMap(({ created, ...queue }) => (created === null ? [] : [{ ...queue, created }]));
  return {
    text: `
      INSERT INTO ${t.entities} AS known (entity, endpoint, created_ms, created_ns)
      SELECT DISTINCT ON (entity, endpoint) entity, endpoint, created_ms, created_ns
      FROM unnest($1::text[], $2::text[], $3::bigint[], $4::integer[]) AS given (entity, endpoint, created_ms, created_ns)
      ORDER BY entity, endpoint, created_ms DESC, created_ns DESC
      ON CONFLICT (entity, endpoint) DO UPDATE SET created_ms = excluded.created_ms, created_ns = excluded.created_ns
      WHERE (excluded.created_ms, excluded.created_ns) > (known.created_ms, known.created_ns)`,
    values: [
      known.map(({ entity }) => keyOrNull(entity)),
      known.map(({ endpoint }) => endpoint),
      known.map(({ created }) => created.ms),
      known.map(({ created }) => created.ns),
    ],
  };
}
