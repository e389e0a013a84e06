import type { AuditLine } from '../../../operator/audit.ts';
import type { AuditLines } from '../../../rules/audit-line.ts';
import { asked } from '../../../rules/steps.ts';
import { textOrNull, toText } from '../../driver/values.ts';
import type { Scene } from '../../engine/scene.ts';

/** The lines of the audit, as the transactions of actions write them. */
export function auditLines({ session, t }: Pick<Scene, 'session' | 't'>): AuditLines {
  return {
    addAuditLine(act, { actor, via, reason, now }, filter, counts) {
      const text = `
        INSERT INTO ${t.audit} (at_ms, actor, via, act, reason, filter, counts) VALUES ($1, $2, $3, $4, $5, $6, $7)
        RETURNING seq`;
      const about = [JSON.stringify(filter ?? null), JSON.stringify(counts)];
      const values = [now, toText(actor), via, toText(act), textOrNull(reason), ...about];
      return asked(session.row<{ seq: number }>(text, values).then((row) => row?.seq ?? 0));
    },
    auditCounts(seq) {
      const read = async () => {
        // Whoever adds to them holds the line until that is written.
        const text = `SELECT counts FROM ${t.audit} WHERE seq = $1 FOR UPDATE`;
        const row = await session.row<{ counts: string }>(text, [seq]);
        return row && (JSON.parse(row.counts) as AuditLine['counts']); // written here
      };
      return asked(read());
    },
    recountAuditLine(seq, counts) {
      const text = `UPDATE ${t.audit} SET counts = $2 WHERE seq = $1`;
      return asked(session.run(text, [seq, JSON.stringify(counts)]).then(() => {}));
    },
    noteActed(line, events, now) {
      const text = `
        INSERT INTO ${t.event_acts} (seq, audit, at_ms) SELECT unnest($2::bigint[]), $1, $3 ON CONFLICT DO NOTHING`;
      return asked(session.run(text, [line, events, now]).then(() => {}));
    },
  };
}
