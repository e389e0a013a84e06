import type { SqliteDatabase } from './database.ts';
import { Tally } from './minute-counts.ts';
import { prepareWorkStatements } from './work-statements.ts';

export type Statements = ReturnType<typeof prepareStatements>;

/** Every statement of the inbox by name, prepared once for a connection. */
export function prepareStatements(database: SqliteDatabase) {
  const prepare = (sql: string) => database.prepare(sql).safeIntegers(false);
  const tally = new Tally(database);
  return {
    tally,
    work: prepareWorkStatements(database, tally),

    insertEvent: prepare(`
      INSERT INTO hookbox_events
        (endpoint, id, type, created_ms, created_ns, entity, verified, state, dead_reason, parked, received_ms, due_ms,
         settled_ms, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id, endpoint) DO NOTHING
    `),
    findKnownEvent: prepare(`
      SELECT seq, entity, state, dead_reason IS 'invalid' AS invalid, verified, body, body_sha256,
        erased_ms IS NOT NULL AS erased
      FROM hookbox_events WHERE id = ? AND endpoint = ?
    `),
    replaceEvent: prepare(`
      UPDATE hookbox_events
      SET type = ?, created_ms = ?, created_ns = ?, entity = ?, verified = ?, state = ?, dead_reason = ?, settled_ms = ?,
          body = ?, body_sha256 = NULL, fingerprint = NULL, discarded_ms = NULL, parked = ?, failures = 0, crashes = 0
      WHERE seq = ?
    `),
    markVerified: prepare('UPDATE hookbox_events SET verified = 1 WHERE seq = ?'),

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
