import type { EventKey } from '../../../event.ts';
import type { Acts } from '../../../operator/acts.ts';
import { actOnKeys, refuseTooManyKeys, type ActEngine, type ActedRow } from '../../../rules/act-on-events.ts';
import { answer, atOnce, DONE } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { BYTES } from '../../moves.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { STATE_TO_ACT_ON } from '../../sql/records.ts';
import type { Statements } from '../../statements.ts';
import type { Access } from '../access.ts';
import { auditLines } from '../audit/audit-line.ts';
import { atCommit, authorOf } from '../../../operator/author.ts';
import { keyIs } from '../../sql/event-key.ts';

/** Acts on events that are named. */
export function actsOnEvents(access: Access): Pick<Acts, 'act'> {
  return {
    async act(act, keys, by, options) {
      const author = authorOf(by);
      atOnce(refuseTooManyKeys(actedEvents(access.database()), keys));
      const report = await access.write((statements, waitedMs) => {
        const engine = { ...actEngine(statements), ...auditLines(statements.database) };
        return atOnce(actOnKeys(engine, act, keys, atCommit(author, waitedMs), options));
      });
      if (report.counts.done !== undefined) access.notify();
      return report;
    },
  };
}

/** What an action asks for, on the tables of a file. */
export function actEngine({ engine, database, moves }: Statements): ActEngine {
  return {
    ...engine,
    ...actedEvents(database),
    processedToPending(seq, now) {
      moves.processedToPending.run({ seq, now });
      return DONE;
    },
    discard(seq, content, now) {
      const { type = null, created = null } = content ?? {};
      moves.discard.run({ seq, now, type, created_ms: created?.ms ?? null, created_ns: created?.ns ?? null });
      return DONE;
    },
    retryNow(seq, now) {
      moves.retryNow.run({ seq, now });
      return DONE;
    },
  };
}

const COLUMNS = `seq, endpoint, id, type, entity, ${STATE_TO_ACT_ON}, dead_reason AS deadReason, body IS NULL AS pruned,
  erased_ms IS NOT NULL AS erased, due_ms AS dueMs, ${BYTES}`;

function actedEvents(database: SqliteDatabase): Pick<ActEngine, 'acted'> {
  const bySeq = statement(database, `SELECT ${COLUMNS} FROM hookbox_events WHERE seq = ?`);
  const byKey = statement(database, `SELECT ${COLUMNS} FROM hookbox_events WHERE ${keyIs()}`);
  return {
    acted(event: EventKey | number) {
      return answer(
        actedRow(typeof event === 'number' ? bySeq.get(event) : byKey.get({ id: event.id, endpoint: event.endpoint })),
      );
    },
  };
}

type Flag = 'pruned' | 'erased';

function actedRow(found: unknown): ActedRow | null {
  if (found === undefined) return null;
  // The CHECKs of the table hold the unions.
  const row = found as Omit<ActedRow, Flag> & Readonly<Record<Flag, 0 | 1>>;
  return { ...row, pruned: row.pruned === 1, erased: row.erased === 1 };
}
