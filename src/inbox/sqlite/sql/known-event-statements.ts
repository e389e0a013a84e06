import { lazyStatement } from './lazy-statement.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { keyIs } from './event-key.ts';

/** What is looked for and written beside an event whose key is known already. */
export function prepareKnownEventStatements(database: SqliteDatabase) {
  const prepare = (sql: string) => lazyStatement(database, sql);
  return {
    event: prepare(`
      SELECT seq, entity, state, dead_reason IS 'invalid' AS invalid, verified, body, body_sha256,
        erased_ms IS NOT NULL AS erased
      FROM hookbox_events WHERE ${keyIs()}
    `),
    redeliveries: prepare('SELECT count, first_ms, last_ms, recent FROM hookbox_redeliveries WHERE seq = ?'),
    saveRedeliveries: prepare(`
      INSERT INTO hookbox_redeliveries (seq, count, first_ms, last_ms, recent) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (seq) DO UPDATE SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent
    `),
    conflicts: prepare('SELECT count, first_ms, last_ms, recent, body FROM hookbox_conflicts WHERE seq = ?'),
    saveConflict: prepare(`
      INSERT INTO hookbox_conflicts (seq, count, first_ms, last_ms, recent, body)
      VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (seq) DO UPDATE
      SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent, body = excluded.body
    `),
  };
}
