import type { Audit, AuditLine } from '../../../operator/audit.ts';
import { eventActOf, MOST_ACTS, type EventActRow } from '../../../operator/event-act.ts';
import { atOnce } from '../../../rules/steps.ts';
import type { Access } from '../access.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { auditLines } from './audit-line.ts';
import { atCommit, authorOf } from '../../../operator/author.ts';
import { pageBounds } from '../../../operator/page-bounds.ts';

/** A row of hookbox_audit; its CHECKs hold the union and that the texts are JSON. */
interface AuditRow {
  readonly seq: number;
  readonly at_ms: number;
  readonly actor: string;
  readonly via: AuditLine['via'];
  readonly act: string;
  readonly reason: string | null;
  readonly filter: string;
  readonly counts: string;
}

/** What operators did, kept in the file itself, so that a backup has it too. */
export function audit(access: Access): Audit {
  return {
    async note(act, by, filter, counts) {
      const author = authorOf(by);
      return access.write(({ database }, waitedMs) =>
        atOnce(auditLines(database).addAuditLine(act, atCommit(author, waitedMs), filter, counts)),
      );
    },
    async recount(seq, counts) {
      await access.write(({ database }) => atOnce(auditLines(database).recountAuditLine(seq, counts)));
    },
    async lines(page) {
      const { before, limit } = pageBounds(page);
      const rows = statement(
        access.database(),
        `SELECT seq, at_ms, actor, via, act, reason, filter, counts FROM hookbox_audit
         WHERE seq < ? ORDER BY seq DESC LIMIT +?`,
      ).all(before, limit + 1) as AuditRow[];
      const lines = rows.slice(0, limit).map(auditLine);
      return { lines, next: rows.length > limit ? (lines.at(-1)?.seq ?? null) : null };
    },
    async actsOn({ id, endpoint }) {
      const rows = statement(
        access.database(),
        `SELECT a.audit, a.at_ms, l.actor, l.via, l.act, l.reason, l.filter
         FROM hookbox_event_acts AS a CROSS JOIN hookbox_audit AS l ON l.seq = a.audit
         WHERE a.seq = (SELECT seq FROM hookbox_events WHERE id = ? AND endpoint = ?) ORDER BY a.audit DESC LIMIT +?`,
      ).all(id, endpoint, MOST_ACTS) as EventActRow[];
      return rows.map(eventActOf).toReversed();
    },
  };
}

function auditLine({ seq, at_ms, actor, via, act, reason, filter, counts }: AuditRow): AuditLine {
  return {
    seq,
    at: new Date(at_ms),
    actor,
    via,
    act,
    reason,
    filter: JSON.parse(filter) as unknown,
    counts: JSON.parse(counts) as AuditLine['counts'], // written by addAuditLine
  };
}
