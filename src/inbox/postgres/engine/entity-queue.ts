import type { EntityQueue, Front, Takers } from '../../rules/engine.ts';
import { asked } from '../../rules/steps.ts';
import { toText } from '../driver/values.ts';
import { fromKey, toKey } from '../sql/keys.ts';
import type { Scene } from './scene.ts';

interface FrontRow {
  readonly seq: number;
  readonly type: string;
  readonly created_ms: number;
  readonly created_ns: number;
}

/** What waits of one entity. Whoever asks holds its slot, or only reads. */
export function entityQueue({ session, t, moves }: Scene): Omit<EntityQueue, 'timeSlice' | keyof Takers> {
  const waiting = `lease_until_ms IS NULL AND entity IS NOT NULL AND entity = $1 AND endpoint = $2`;
  const inOrder = 'ORDER BY created_ms, created_ns, seq';
  const lease = `
    SELECT 1 FROM ${t.queue}
    WHERE lease_until_ms IS NOT NULL AND entity IS NOT NULL AND entity = $1 AND endpoint = $2 LIMIT 1`;
  const front = `SELECT created_ms, created_ns, seq, type FROM ${t.queue} WHERE ${waiting} ${inOrder} LIMIT 1`;
  const frontOfTypes = `
    SELECT created_ms, created_ns, seq, type FROM ${t.queue} WHERE ${waiting} AND type = ANY($3::text[]) ${inOrder} LIMIT 1`;
  const upTo = `
    SELECT seq FROM (
      SELECT seq, parked FROM ${t.queue}
      WHERE ${waiting} AND (created_ms, created_ns, seq) <= ($3::bigint, $4::integer, $5::bigint) ${inOrder} LIMIT $6
    ) AS first WHERE parked`;
  return {
    hasLease: ({ endpoint, entity }) =>
      asked(session.row(lease, bound(endpoint, entity)).then((found) => found !== undefined)),
    front: ({ endpoint, entity }) => asked(session.row<FrontRow>(front, bound(endpoint, entity)).then(frontOf)),
    frontOfTypes: ({ endpoint, entity }, types) =>
      asked(session.row<FrontRow>(frontOfTypes, [...bound(endpoint, entity), types.map(toKey)]).then(frontOf)),
    park: (seq) => asked(session.run(moves.park, [seq]).then(() => {})),
    // The length of its body does not matter here: a row of the queue has none.
    unpark: (seq) => asked(session.run(moves.unpark, [seq]).then((changes) => (changes === 0 ? undefined : 0))),
    parkedUpTo({ endpoint, entity }, last, limit) {
      const { created, seq } = last ?? LAST;
      const values = [...bound(endpoint, entity), created.ms, created.ns, seq, limit];
      return asked(session.rows<{ seq: number }>(upTo, values).then((rows) => rows.map((row) => row.seq)));
    },
  };
}

/** After every event there can be. */
const LAST: Omit<Front, 'type'> = { created: { ms: Number.MAX_SAFE_INTEGER, ns: 0 }, seq: 0 };

function bound(endpoint: string, entity: string | null): readonly [string | null, string] {
  return [entity === null ? null : toKey(entity), toText(endpoint)];
}

export function frontOf(row: FrontRow | undefined): Front | undefined {
  if (row === undefined) return undefined;
  return { seq: row.seq, type: fromKey(row.type), created: { ms: row.created_ms, ns: row.created_ns } };
}
