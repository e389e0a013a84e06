import type { AuditLine } from '../../../operator/audit.ts';
import type { AuditLines } from '../../../rules/audit-line.ts';
import { answer, DONE } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** The lines of the audit, as the transactions of actions write them. */
export function auditLines(database: SqliteDatabase): AuditLines {
  return {
    addAuditLine(act, { actor, via, reason, now }, filter, counts) {
      const { lastInsertRowid } = statement(
        database,
        'INSERT INTO hookbox_audit (at_ms, actor, via, act, reason, filter, counts) VALUES (?, ?, ?, ?, ?, ?, ?)',
      ).run(now, actor, via, act, reason, JSON.stringify(filter ?? null), JSON.stringify(counts));
      return answer(Number(lastInsertRowid));
    },
    auditCounts(seq) {
      const row = statement(database, 'SELECT counts FROM hookbox_audit WHERE seq = ?').get(seq);
      if (row === undefined) return answer(undefined);
      return answer(JSON.parse((row as { counts: string }).counts) as AuditLine['counts']); // written here
    },
    recountAuditLine(seq, counts) {
      statement(database, 'UPDATE hookbox_audit SET counts = ? WHERE seq = ?').run(JSON.stringify(counts), seq);
      return DONE;
    },
    noteActed(line, events, now) {
      statement(
        database,
        `INSERT INTO hookbox_event_acts (seq, audit, at_ms) SELECT value, ?, ? FROM json_each(?) WHERE true
         ON CONFLICT DO NOTHING`,
      ).run(line, now, JSON.stringify(events));
      return DONE;
    },
  };
}
