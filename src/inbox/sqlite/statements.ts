import type { SqliteDatabase } from './database.ts';
import { MinuteCounts } from './minute-counts.ts';
import { prepareMoves } from './moves.ts';
import { prepareQueueStatements } from './queue-statements.ts';

export type Statements = ReturnType<typeof prepareStatements>;

/** Every statement of the inbox by name, prepared once for a connection. */
export function prepareStatements(database: SqliteDatabase) {
  const prepare = (sql: string) => database.prepare(sql).safeIntegers(false);
  return {
    /** for what is prepared only when it is first needed */
    database,
    counts: new MinuteCounts(database),
    moves: prepareMoves(database),
    queue: prepareQueueStatements(database),

    findKnownEvent: prepare(`
      SELECT seq, entity, state, dead_reason IS 'invalid' AS invalid, verified, body, body_sha256,
        erased_ms IS NOT NULL AS erased
      FROM hookbox_events WHERE id = ? AND endpoint = ?
    `),

    findRedeliveries: prepare('SELECT count, first_ms, last_ms, recent FROM hookbox_redeliveries WHERE seq = ?'),
    saveRedeliveries: prepare(`
      INSERT INTO hookbox_redeliveries (seq, count, first_ms, last_ms, recent) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (seq) DO UPDATE SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent
    `),
    findConflict: prepare('SELECT count, first_ms, last_ms, recent, body FROM hookbox_conflicts WHERE seq = ?'),
    saveConflict: prepare(`
      INSERT INTO hookbox_conflicts (seq, count, first_ms, last_ms, recent, body) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (seq) DO UPDATE
      SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent, body = excluded.body
    `),

    getEvent: prepare('SELECT * FROM hookbox_events WHERE id = ? AND endpoint = ?'),
    listEvents: prepare('SELECT * FROM hookbox_events WHERE seq > ? ORDER BY seq LIMIT ?'),
  };
}
