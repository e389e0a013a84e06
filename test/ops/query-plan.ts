import type Database from 'better-sqlite3';
import type { SqliteDatabase, SqliteStatement } from '../../src/inbox/sqlite/opening/database.ts';
import { prepareNamedStatements } from '../../src/inbox/sqlite/sql/named-statements.ts';

/**
 * Every text that is prepared on a connection from now on, but those that deliveries and processors run: what they may do is
 * said in test/processing/work-queue.test.ts.
 */
export function recorded(database: Database.Database): ReadonlySet<string> {
  const texts = new Set<string>();
  const others = textsOfTheQueue();
  const prepare = database.prepare.bind(database);
  Object.assign(database, {
    prepare(sql: string) {
      if (!others.has(sql)) texts.add(sql);
      return prepare(sql);
    },
  });
  return texts;
}

/** The statements that have a name, none of which is prepared before it is run. */
function textsOfTheQueue(): ReadonlySet<string> {
  const texts = new Set<string>();
  const statement: SqliteStatement = {
    run: () => ({ changes: 0, lastInsertRowid: 0 }),
    get: () => undefined,
    all: () => [],
    reader: true,
    safeIntegers: () => statement,
  };
  const prepare = (sql: string) => {
    texts.add(sql);
    return statement;
  };
  const { moves, queue } = prepareNamedStatements({ prepare } as unknown as SqliteDatabase);
  for (const named of [moves, queue]) for (const each of Object.values(named)) each.run();
  return texts;
}

export function planOf(database: SqliteDatabase, sql: string): string[] {
  const named = Object.fromEntries([...sql.matchAll(/[:$](\w+)/g)].map(([, name = '']) => [name, null]));
  const unnamed = Array.from(sql.matchAll(/\?/g), () => null);
  const parameters = Object.keys(named).length > 0 ? [named] : unnamed;
  const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters);
  return rows.map((row) => (row as { detail: string }).detail);
}

/**
 * What may be gone through whole: values of the statement's own, the events whose handlers run at the moment, endpoints, types that
 * are paused, groups that are acknowledged, and types that handlers name.
 */
const SMALL = [
  /^SCAN (json_each|candidate|endpoints|prints|names|aside|acts|counted|latest|groups|hours)\b/,
  /^SCAN (\(subquery-\d+\)|CONSTANT ROW)/,
  /^SCAN hookbox_events USING COVERING INDEX hookbox_events_leased$/,
  /^SCAN hookbox_(pauses|acknowledged)$/,
  /^SCAN hookbox_handling$/,
];

/**
 * What is wrong with a plan: a table is gone through whole, a range of it is read without a bound, or everything that fits
 * is read to be sorted.
 */
export function faults(sql: string, plan: readonly string[]): string[] {
  const isBounded = /\bLIMIT\b/.test(sql);
  return plan.filter((line) => {
    if (line.startsWith('SCAN ')) return !SMALL.some((small) => small.test(line));
    if (line.startsWith('SEARCH ')) return /rowid[<>]/.test(line) && !isBounded;
    // An id has an event for each endpoint; the other one is put in order as it is.
    if (line.includes('TEMP B-TREE FOR ORDER BY')) return !/\bid = \+?:id AND\b/.test(sql);
    return false;
  });
}
