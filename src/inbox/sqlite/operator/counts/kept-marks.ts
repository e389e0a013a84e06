import type { Mark, Marks, SecretChanged } from '../../../operator/marks.ts';
import {
  MARKS_KEPT,
  MARKS_SHOWN,
  planRelease,
  planSecret,
  spanOfSecret,
  type KeptMark,
  type MarkChange,
} from '../../../rules/marks.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import type { Access } from '../access.ts';

const MARK = 'seq, name, at_ms AS at, seen_ms AS seenAt, ended_ms AS endedAt';

export function marks(access: Access): Marks {
  return {
    noteRelease: (seen) =>
      access.write(({ database }) => {
        const { endpoint, name } = seen;
        save(database, planRelease(newestRelease(database, endpoint, name), newestRelease(database, endpoint), seen));
      }),
    noteSecret: (changed) =>
      access.write(({ database }) => save(database, planSecret(hasSecret(database, changed), changed))),
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

function newestRelease(database: SqliteDatabase, endpoint: string, name?: string): KeptMark | undefined {
  const row = statement(
    database,
    `SELECT ${MARK} FROM hookbox_marks WHERE kind = 'release' ${name === undefined ? '' : 'AND name = :name'}
       AND (endpoint IN (:endpoint, '*') OR :endpoint = '*')
     ORDER BY at_ms DESC, seq DESC LIMIT 1`,
  ).get(name === undefined ? { endpoint } : { endpoint, name });
  return row as KeptMark | undefined; // the columns of the statement
}

function hasSecret(database: SqliteDatabase, changed: SecretChanged): boolean {
  const { since, until } = spanOfSecret(changed);
  const text = "SELECT 1 FROM hookbox_marks WHERE kind = 'secret' AND name = ? AND at_ms BETWEEN ? AND ? LIMIT 1";
  return statement(database, text).get(changed.endpoint, since, until) !== undefined;
}

function save(database: SqliteDatabase, change: MarkChange | null): void {
  const run = (text: string, ...values: readonly unknown[]) => void statement(database, text).run(...values);
  if (change === null) return;
  if (change.kind === 'seen') {
    const { seq, seenAt, endedAt } = change;
    return run('UPDATE hookbox_marks SET seen_ms = ?, ended_ms = ? WHERE seq = ?', seenAt, endedAt, seq);
  }
  const { mark, at } = change;
  const add = 'INSERT INTO hookbox_marks (kind, name, endpoint, at_ms, seen_ms) VALUES (?, ?, ?, ?, ?)';
  run(add, mark.kind, mark.name, mark.endpoint, at, at);
  run(`DELETE FROM hookbox_marks WHERE seq <= (SELECT max(seq) FROM hookbox_marks) - ${MARKS_KEPT}`);
}
