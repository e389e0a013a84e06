import { lazyStatement } from './lazy-statement.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { keyIs } from './event-key.ts';

/** What is looked for and written beside an event whose key is known already. */
export function prepareKnownEventStatements(database: SqliteDatabase) {
  const prepare = (sql: string) => lazyStatement(database, sql);
  return {
    event: prepare(`
      SELECT e.seq, entity, state, dead_reason IS 'invalid' AS invalid, verified, e.body, body_sha256,
        erased_ms IS NOT NULL AS erased,
        again.count AS again_count, again.first_ms AS again_first, again.last_ms AS again_last, again.recent AS again_recent,
        other.count AS other_count, other.first_ms AS other_first, other.last_ms AS other_last, other.recent AS other_recent
      FROM hookbox_events AS e
        LEFT JOIN hookbox_redeliveries AS again ON again.seq = e.seq
        LEFT JOIN hookbox_conflicts AS other ON other.seq = e.seq
      WHERE ${keyIs('+:id', '+:endpoint')}
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
