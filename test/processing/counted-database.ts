import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { scratchFile } from '../helpers/scratch-folder.ts';

export interface CountedTransaction {
  statements: number;
  rows: number;
  written: number;
}

export interface CountedDatabase {
  readonly database: Database.Database;
  readonly take: () => readonly CountedTransaction[];
}

export function countedDatabase(): CountedDatabase {
  const database = new Database(scratchFile());
  onTestFinished(() => void database.close());
  let transactions: CountedTransaction[] = [];
  let current: CountedTransaction | null = null;

  const prepare = database.prepare.bind(database) as (sql: string) => Database.Statement;
  const note = (rows: number, written = 0): void => {
    if (current === null) return;
    current.statements += 1;
    current.rows += rows;
    current.written += written;
  };
  const counting = (sql: string): Database.Statement => {
    const statement = prepare(sql);
    const run = statement.run.bind(statement);
    const get = statement.get.bind(statement);
    const all = statement.all.bind(statement);
    statement.run = (...parameters: unknown[]) => {
      const result = run(...parameters);
      if (sql.startsWith('BEGIN')) {
        current = { statements: 0, rows: 0, written: 0 };
        transactions.push(current);
      } else if (sql === 'COMMIT') current = null;
      else note(result.changes, result.changes);
      return result;
    };
    statement.get = (...parameters: unknown[]) => {
      const row = get(...parameters);
      note(1, row !== undefined && sql.includes('RETURNING') ? 1 : 0);
      return row;
    };
    statement.all = (...parameters: unknown[]) => {
      const rows = all(...parameters);
      note(rows.length);
      return rows;
    };
    return statement;
  };
  database.prepare = counting as typeof database.prepare;

  return {
    database,
    take() {
      const taken = transactions;
      transactions = [];
      return taken;
    },
  };
}

export function mostOf(transactions: readonly CountedTransaction[]): CountedTransaction {
  return {
    statements: Math.max(...transactions.map(({ statements }) => statements)),
    rows: Math.max(...transactions.map(({ rows }) => rows)),
    written: Math.max(...transactions.map(({ written }) => written)),
  };
}
