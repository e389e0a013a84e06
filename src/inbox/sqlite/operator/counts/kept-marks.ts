import type { Mark, Marks } from '../../../operator/marks.ts';
import {
  MARKS_KEPT,
  MARKS_SHOWN,
  noteRelease,
  noteSecret,
  type KeptMark,
  type MarkEngine,
} from '../../../rules/marks.ts';
import { answer, atOnce, DONE } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import type { Access } from '../access.ts';

const MARK = 'seq, name, at_ms AS at, seen_ms AS seenAt, ended_ms AS endedAt';

export function marks(access: Access): Marks {
  return {
    noteRelease: (seen) => access.write(({ database }) => atOnce(noteRelease(engineOn(database), seen))),
    noteSecret: (changed) => access.write(({ database }) => atOnce(noteSecret(engineOn(database), changed))),
    async marks(since, until) {
      const rows = statement(
        access.database(),
        `SELECT kind, name, endpoint, at_ms AS at FROM hookbox_marks WHERE at_ms >= ? AND at_ms < ?
         ORDER BY at_ms DESC, seq DESC LIMIT ${MARKS_SHOWN}`,
      ).all(since, until) as (Omit<Mark, 'at'> & { readonly at: number })[]; // the columns of the statement
      return rows.map((row) => ({ ...row, at: new Date(row.at) })).toReversed();
    },
  };
}

function engineOn(database: SqliteDatabase): MarkEngine {
  return {
    newestRelease(endpoint, name) {
      const named = name === undefined ? '' : 'AND name = :name';
      const row = statement(
        database,
        `SELECT ${MARK} FROM hookbox_marks WHERE kind = 'release' ${named}
           AND (endpoint IN (:endpoint, '*') OR :endpoint = '*')
         ORDER BY at_ms DESC, seq DESC LIMIT 1`,
      ).get(name === undefined ? { endpoint } : { endpoint, name });
      return answer(row as KeptMark | undefined); // the columns of the statement
    },
    hasSecret(endpoint, since, until) {
      const found = statement(
        database,
        "SELECT 1 FROM hookbox_marks WHERE kind = 'secret' AND name = ? AND at_ms BETWEEN ? AND ? LIMIT 1",
      ).get(endpoint, since, until);
      return answer(found !== undefined);
    },
    addMark({ kind, name, endpoint }, at) {
      statement(
        database,
        'INSERT INTO hookbox_marks (kind, name, endpoint, at_ms, seen_ms) VALUES (?, ?, ?, ?, ?)',
      ).run(kind, name, endpoint, at, at);
      statement(
        database,
        `DELETE FROM hookbox_marks WHERE seq <= (SELECT max(seq) FROM hookbox_marks) - ${MARKS_KEPT}`,
      ).run();
      return DONE;
    },
    seeMark(seq, seenAt, endedAt) {
      statement(database, 'UPDATE hookbox_marks SET seen_ms = ?, ended_ms = ? WHERE seq = ?').run(seenAt, endedAt, seq);
      return DONE;
    },
  };
}
