import type { Audit, AuditLine } from '../../../operator/audit.ts';
import { eventActOf, MOST_ACTS, type EventActRow } from '../../../operator/event-act.ts';
import type { Access } from '../access.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { addAuditLine, recountAuditLine } from './audit-line.ts';
import { atCommit, authorOf } from '../../../operator/author.ts';
import { auditBounds, auditPage, LINES_LOOKED_AT } from '../../../operator/audit-request.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { keyIs } from '../../sql/event-key.ts';

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
        addAuditLine(database, act, atCommit(author, waitedMs), filter, counts),
      );
    },
    async recount(seq, counts) {
      await access.write(({ database }) => recountAuditLine(database, seq, counts));
    },
    async lines(request) {
      const { before, limit, actor, since, until, isFiltered } = auditBounds(request);
      const unseen = isFiltered ? beyond(access.database(), before) : undefined;
      const rows = statement(
        access.database(),
        `SELECT seq, at_ms, actor, via, act, reason, filter, counts FROM hookbox_audit
         WHERE seq > :unseen AND seq < :before
           AND (:actor IS NULL OR actor = :actor)
           AND (:since IS NULL OR at_ms >= :since) AND (:until IS NULL OR at_ms < :until)
         ORDER BY seq DESC LIMIT +:limit`,
      ).all({ unseen: unseen ?? -1, before, actor, since, until, limit: limit + 1 }) as AuditRow[];
      return auditPage(rows.map(auditLine), limit, unseen ?? null);
    },
    async actsOn({ id, endpoint }) {
      const rows = statement(
        access.database(),
        `SELECT a.audit, a.at_ms, l.actor, l.via, l.act, l.reason, l.filter
         FROM hookbox_event_acts AS a CROSS JOIN hookbox_audit AS l ON l.seq = a.audit
         WHERE a.seq = (SELECT seq FROM hookbox_events WHERE ${keyIs()}) ORDER BY a.audit DESC LIMIT +:most`,
      ).all({ id, endpoint, most: MOST_ACTS }) as EventActRow[];
      return rows.map(eventActOf).toReversed();
    },
  };
}

/** The first line that is not looked at for a page. */
function beyond(database: SqliteDatabase, before: number): number | undefined {
  const row = statement(
    database,
    `SELECT seq FROM hookbox_audit WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ${LINES_LOOKED_AT}`,
  ).get(before) as Pick<AuditRow, 'seq'> | undefined;
  return row?.seq;
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
