import type { Processors } from '../../rules/engine.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { Scope } from '../../work.ts';
import { statement } from '../sql/prepared-statement.ts';
import { EVER_TAKEN } from '../sql/queue-statements.ts';
import type { NamedStatements } from '../sql/named-statements.ts';

interface ProcessorRow {
  readonly name: string;
  readonly endpoints: string;
  readonly types: string;
  readonly started_ms: number;
  readonly seen_ms: number;
}

/** The processors that run, each with a row of its own. */
export function processors({ database }: Pick<NamedStatements, 'database'>): Processors {
  return {
    saveProcessor({ name, endpoints, types, startedAt, seenAt }) {
      statement(
        database,
        `INSERT INTO hookbox_processors (name, endpoints, types, started_ms, seen_ms)
         VALUES (:name, :endpoints, :types, :startedAt, :seenAt)
         ON CONFLICT (name) DO UPDATE SET started_ms = excluded.started_ms, seen_ms = excluded.seen_ms`,
      ).run({ name, endpoints: JSON.stringify(endpoints), types: JSON.stringify(types), startedAt, seenAt });
      return DONE;
    },
    forgetProcessors(notSeenSince) {
      statement(database, 'DELETE FROM hookbox_processors WHERE seen_ms <= ?').run(notSeenSince);
      return DONE;
    },
    forgetProcessor(name) {
      statement(database, 'DELETE FROM hookbox_processors WHERE name = ?').run(name);
      return DONE;
    },
    processorsAfter(since) {
      const sql = 'SELECT * FROM hookbox_processors WHERE seen_ms > ? ORDER BY started_ms, name';
      const rows = statement(database, sql).all(since) as ProcessorRow[]; // the columns of the table
      return answer(
        rows.map((row) => ({
          name: row.name,
          endpoints: JSON.parse(row.endpoints) as Scope['endpoints'], // as it was written
          types: JSON.parse(row.types) as Scope['types'],
          startedAt: row.started_ms,
          seenAt: row.seen_ms,
        })),
      );
    },
    everTaken() {
      return answer(statement(database, EVER_TAKEN).all() as { endpoint: string; type: string; at: number }[]);
    },
  };
}
