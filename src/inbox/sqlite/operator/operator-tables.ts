import {
  sharedTables,
  type Clock,
  type Dialect,
  type OperatorTables,
  type Read,
  type Statement,
} from '../../operator/sql.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { keyIs } from '../sql/event-key.ts';
import { statement } from '../sql/prepared-statement.ts';
import { READY } from '../sql/queue-statements.ts';
import { STATE_TO_ACT_ON } from '../sql/records.ts';
import type { Access } from './access.ts';
import { DEAD, PRINT } from './search/dead-prints.ts';

const aside = (parked: 1 | 2, limit: number): string => `
  SELECT * FROM (
    SELECT endpoint, type, parked AS list FROM hookbox_events WHERE parked > 0 AND parked = ${parked} ORDER BY seq
    LIMIT ${limit}
  )`;

const givenColumn = (name: string, at: number): string => `$${at + 1} ->> json_each.key AS ${name}`;

const HANDLED = `
  events.due_ms, events.settled_ms, events.attempts AS begun, events.failures, events.crashes, events.trigger,
  events.fingerprint, events.yields`;

export const sqlite: Dialect = {
  t: Object.fromEntries(sharedTables.map((name) => [name, `hookbox_${name}`])) as Dialect['t'], // one for each name
  keyIs,
  anyOf: (column, parameter) => `${column} IN (SELECT value FROM json_each(${parameter}))`,
  joinRow: (table, as, where) => `CROSS JOIN ${table} AS ${as} ON ${where(as)}`,
  list: (parameter) => `json_each(${parameter})`,
  given: (columns) => `(SELECT ${Object.keys(columns).map(givenColumn).join(', ')} FROM json_each($1)) AS given`,
  aside: (limit) => `${aside(1, limit)} UNION ALL ${aside(2, limit)}`,
  ready: `hookbox_events AS ready WHERE ${READY}`,
  event: { joins: '', columns: 'events.settled_ms AS put_away_ms' },
  handled: { joins: '', columns: HANDLED },
  jsonObject: 'json_object',
  jsonList: 'json_group_array',
  fromJson: (json) => JSON.parse(json) as unknown,
  dead: { from: DEAD, print: PRINT },
  toKey: (text) => text,
  returningSeq: '',
  forUpdate: '',
  now: "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
  state: 'state, dead_reason',
  stateToActOn: `${STATE_TO_ACT_ON}, dead_reason`,
  queued: 'events',
};

/** The tables of a file. */
export function operatorTables({ database, write, notify }: Access): OperatorTables {
  const read: Read = (work) =>
    work({ ...clockAfter(0), rows: async <Row>(asked: Statement) => rowsOf(database(), asked) as Row[] });
  return {
    dialect: sqlite,
    read,
    inSteps: (work) => work(read),
    change: ({ load, plan }) =>
      write(({ database: writing }, waitedMs) => {
        const clock = clockAfter(waitedMs);
        const loaded = load?.(clock).map((asked) => rowsOf(writing, asked)) ?? [];
        const { save = [], result } = plan(loaded as never, clock); // the rows of its statements
        return result(save.map((asked) => rowsOf(writing, asked)));
      }),
    append: (statements) =>
      write(({ database: writing }) => statements(clockAfter(0)).forEach((asked) => rowsOf(writing, asked))),
    notify,
  };
}

/** The clock of a transaction that has waited for the file, while the clock may have been set. */
export function clockAfter(waitedMs: number): Clock {
  return { toDatabase: (ms) => ms + waitedMs, toCaller: (ms) => ms };
}

/** Runs a statement. If it returns no rows, the result is the `seq` of the last inserted row. */
export function rowsOf(database: SqliteDatabase, { text, values = [] }: Statement): readonly unknown[] {
  const prepared = statement(database, text);
  const named = Object.fromEntries(values.map((value, at) => [at + 1, parameterOf(value)]));
  const given = values.length === 0 ? [] : [named];
  if (prepared.reader) return prepared.all(...given);
  return [{ seq: Number(prepared.run(...given).lastInsertRowid) }];
}

function parameterOf(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value);
  return Array.isArray(value) ? JSON.stringify(value) : value;
}
