import type { Audit, AuditLine } from '../../../operator/audit.ts';
import { eventActOf, MOST_ACTS, type EventActRow } from '../../../operator/event-act.ts';
import { authorOf } from '../../../operator/author.ts';
import { pageBounds } from '../../../operator/page-bounds.ts';
import { awaited } from '../../../rules/steps.ts';
import { fromText, toText } from '../../driver/values.ts';
import { rowOf } from '../../sql/tables.ts';
import type { Access } from '../access.ts';
import { auditLines } from './audit-line.ts';

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
            noted = await awaited(auditLines({ session, t }).addAuditLine(act, at, filter, counts));
            return noted;
          },
          async wasDone(session) {
            const line = await session.row(`SELECT 1 FROM ${t.audit} WHERE seq = $1`, [noted]);
            return line === undefined ? undefined : { result: noted };
          },
        }),
      );
    },
    recount: (seq, counts) =>
      ask(() =>
        database.transaction({
          work: (session) => awaited(auditLines({ session, t }).recountAuditLine(seq, counts)),
        }),
      ),
    async lines(page) {
      const { before, limit } = pageBounds(page);
      const text = `
        SELECT seq, at_ms, actor, via, act, reason, filter, counts FROM ${t.audit}
        WHERE seq < $1 ORDER BY seq DESC LIMIT $2`;
      const rows = await ask(() =>
        database.read(async (session) => {
          await time.follow(session);
          return session.rows<AuditRow>(text, [before, limit + 1]);
        }),
      );
      const lines = rows.slice(0, limit).map((row) => auditLine(row, time.toCaller(row.at_ms)));
      return { lines, next: rows.length > limit ? (lines.at(-1)?.seq ?? null) : null };
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
          return session.rows<EventActRow>(text, [toText(id), toText(endpoint), MOST_ACTS]);
        }),
      );
      return rows.map((row) =>
        eventActOf({
          ...row,
          at_ms: time.toCaller(row.at_ms),
          actor: fromText(row.actor),
          act: fromText(row.act),
          reason: row.reason === null ? null : fromText(row.reason),
        }),
      );
    },
  };
}

function auditLine({ seq, actor, via, act, reason, filter, counts }: AuditRow, at: number): AuditLine {
  return {
    seq,
    at: new Date(at),
    actor: fromText(actor),
    via,
    act: fromText(act),
    reason: reason === null ? null : fromText(reason),
    filter: JSON.parse(filter) as unknown,
    counts: JSON.parse(counts) as AuditLine['counts'], // written by addAuditLine
  };
}
