import type { Audit, AuditLine } from '../../../operator/audit.ts';
import { eventActOf, MOST_ACTS, type EventActRow } from '../../../operator/event-act.ts';
import { authorOf } from '../../../operator/author.ts';
import { auditBounds, auditPage, LINES_LOOKED_AT } from '../../../operator/audit-request.ts';
import { rowOf } from '../../sql/tables.ts';
import type { Access } from '../access.ts';
import { addAuditLine, auditCounts } from './audit-line.ts';

/** A row of the audit; its CHECK holds the union. */
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

/** What operators did, kept beside the events, so that a dump has it too. */
export function audit({ store, ask }: Access): Audit {
  const { database, t, time } = store;
  return {
    async note(act, by, filter, counts) {
      const author = authorOf(by);
      let noted = 0;
      return ask(() =>
        database.transaction({
          before: (session) => time.follow(session),
          async work(session) {
            const at = { ...author, now: time.toDatabase(author.now) };
            noted = await addAuditLine({ session, t }, act, at, filter, counts);
            return noted;
          },
          async wasDone(session) {
            const line = await session.row(`SELECT 1 FROM ${t.audit} WHERE seq = $1`, [noted]);
            return line === undefined ? undefined : { result: noted };
          },
        }),
      );
    },
    async recount(seq, counts) {
      const { text, values } = auditCounts(t, seq, counts);
      await ask(() => database.transaction({ work: (session) => session.run(text, values) }));
    },
    async lines(request) {
      const { before, limit, actor, since, until, isFiltered } = auditBounds(request);
      const beyond = `SELECT seq FROM ${t.audit} WHERE seq < $1 ORDER BY seq DESC LIMIT 1 OFFSET ${LINES_LOOKED_AT}`;
      const text = `
        SELECT seq, at_ms, actor, via, act, reason, filter, counts FROM ${t.audit}
        WHERE seq > $1 AND seq < $2
          AND ($3::text IS NULL OR actor = $3) AND ($4::bigint IS NULL OR at_ms >= $4) AND ($5::bigint IS NULL OR at_ms < $5)
        ORDER BY seq DESC LIMIT $6`;
      const at = (ms: number | null) => (ms === null ? null : time.toDatabase(ms));
      const found = await ask(() =>
        database.read(async (session) => {
          await time.follow(session);
          const unseen = isFiltered ? await session.row<Pick<AuditRow, 'seq'>>(beyond, [before]) : undefined;
          const values = [actor, at(since), at(until), limit + 1];
          return { unseen, rows: await session.rows<AuditRow>(text, [unseen?.seq ?? -1, before, ...values]) };
        }),
      );
      const lines = found.rows.map((row) => auditLine(row, time.toCaller(row.at_ms)));
      return auditPage(lines, limit, found.unseen?.seq ?? null);
    },
    async actsOn({ id, endpoint }) {
      const text = `
        SELECT acts.audit, acts.at_ms, line.actor, line.via, line.act, line.reason, line.filter FROM (
          SELECT audit, at_ms FROM ${t.event_acts}
          WHERE seq = (SELECT seq FROM ${t.events} WHERE id = $1 AND endpoint = $2) ORDER BY audit DESC LIMIT $3
        ) AS acts CROSS JOIN ${rowOf(t.audit, 'line', 'found.seq = acts.audit')} ORDER BY acts.audit`;
      const rows = await ask(() =>
        database.read(async (session) => {
          await time.follow(session);
          return session.rows<EventActRow>(text, [id, endpoint, MOST_ACTS]);
        }),
      );
      return rows.map((row) =>
        eventActOf({
          ...row,
          at_ms: time.toCaller(row.at_ms),
          actor: row.actor,
          act: row.act,
          reason: row.reason,
        }),
      );
    },
  };
}

function auditLine({ seq, actor, via, act, reason, filter, counts }: AuditRow, at: number): AuditLine {
  return {
    seq,
    at: new Date(at),
    actor,
    via,
    act,
    reason,
    filter: JSON.parse(filter) as unknown,
    counts: JSON.parse(counts) as AuditLine['counts'], // written by addAuditLine
  };
}
