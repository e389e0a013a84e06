import { lazyStatement } from './lazy-statement.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { MinuteCounts } from './minute-counts.ts';
import { prepareKnownEventStatements } from './known-event-statements.ts';
import { prepareMoves } from '../moves.ts';
import { prepareQueueStatements } from './queue-statements.ts';
import { keyIs } from './event-key.ts';

export type NamedStatements = ReturnType<typeof prepareNamedStatements>;

/** Every statement of the inbox by name, prepared once for a connection. */
export function prepareNamedStatements(database: SqliteDatabase) {
  const prepare = (sql: string) => lazyStatement(database, sql);
  return {
    /** for what is prepared only when it is first needed */
    database,
    counts: new MinuteCounts(database),
    moves: prepareMoves(database),
    queue: prepareQueueStatements(database),
    known: prepareKnownEventStatements(database),

    getEvent: prepare(`SELECT * FROM hookbox_events WHERE ${keyIs()}`),
    listEvents: prepare('SELECT * FROM hookbox_events WHERE seq > ? ORDER BY seq LIMIT +?'),
  };
}
