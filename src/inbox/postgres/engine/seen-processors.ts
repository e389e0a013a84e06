import type { Processors } from '../../rules/engine.ts';
import { asked } from '../../rules/steps.ts';
import type { Scope } from '../../work.ts';
import { fromText, toText } from '../driver/values.ts';
import { fromKey } from '../sql/keys.ts';
import type { Scene } from './scene.ts';

interface ProcessorRow {
  readonly name: string;
  readonly endpoints: string;
  readonly types: string;
  readonly started_ms: number;
  readonly seen_ms: number;
}

/** The processors that run, each with a row of its own. */
export function processors({ session, t }: Pick<Scene, 'session' | 't'>): Processors {
  const run = (sql: string, values: readonly unknown[]) => asked(session.run(sql, values).then(() => {}));
  return {
    saveProcessor: ({ name, endpoints, types, startedAt, seenAt }) =>
      run(
        `INSERT INTO ${t.processors} (name, endpoints, types, started_ms, seen_ms) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (name) DO UPDATE SET started_ms = excluded.started_ms, seen_ms = excluded.seen_ms`,
        [toText(name), JSON.stringify(endpoints), JSON.stringify(types), startedAt, seenAt],
      ),
    // Another machine may do the same just now; whoever comes later finds nothing left.
    forgetProcessors: (notSeenSince) =>
      run(
        `DELETE FROM ${t.processors} WHERE name = ANY(ARRAY(
           SELECT name FROM ${t.processors} WHERE seen_ms <= $1 FOR UPDATE SKIP LOCKED))`,
        [notSeenSince],
      ),
    forgetProcessor: (name) => run(`DELETE FROM ${t.processors} WHERE name = $1`, [toText(name)]),
    processorsAfter(since) {
      const sql = `SELECT * FROM ${t.processors} WHERE seen_ms > $1 ORDER BY started_ms, name`;
      return asked(
        session.rows<ProcessorRow>(sql, [since]).then((rows) =>
          rows.map((row) => ({
            name: fromText(row.name),
            endpoints: JSON.parse(row.endpoints) as Scope['endpoints'], // as it was written
            types: JSON.parse(row.types) as Scope['types'],
            startedAt: row.started_ms,
            seenAt: row.seen_ms,
          })),
        ),
      );
    },
    everTaken() {
      const found = session.rows<{ endpoint: string; type: string; at: number }>(
        `SELECT endpoint, type, seen_ms AS at FROM ${t.takers} ORDER BY endpoint, type`,
      );
      return asked(
        found.then((rows) =>
          rows.map(({ endpoint, type, at }) => ({ endpoint: fromText(endpoint), type: fromKey(type), at })),
        ),
      );
    },
  };
}
