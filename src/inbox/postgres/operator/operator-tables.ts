import { auditLine, countsOfLine, moreCounts, type AuditLine } from '../../operator/audit.ts';
import type { Author } from '../../operator/acts.ts';
import type { Dialect, OperatorTables, Read, Reader, Statement } from '../../operator/sql.ts';
import { doneOnce, type Asked } from '../driver/database.ts';
import { type Session, fromJson } from '../driver/session.ts';
import type { Reading } from '../engine/transaction.ts';
import { places, STATE, stateToActOn } from '../sql/records.ts';
import { toKey, rowOf, type Tables } from '../sql/tables.ts';
import type { Store } from '../store.ts';

export function postgres(t: Tables): Dialect {
  return {
    t,
    keyIs: (id, endpoint) => `id = ${id} AND endpoint = ${endpoint}`,
    anyOf: (column, parameter, type) => `${column} = ANY(${parameter}::${type}[])`,
    joinRow: (table, as, where) => `CROSS JOIN ${rowOf(table, as, where('found'))}`,
    list: (parameter, type) => `unnest(${parameter}::${type}[]) AS list (value)`,
    given(columns) {
      const lists = Object.values(columns).map((type, at) => `$${at + 1}::${type}[]`);
      return `unnest(${lists.join(', ')}) AS given (${Object.keys(columns).join(', ')})`;
    },
    aside: (limit) => `SELECT endpoint, type, 1 AS list FROM ${t.queue} WHERE parked ORDER BY seq + 0 LIMIT ${limit}`,
    ready: `${t.queue} AS ready WHERE ready.lease_until_ms IS NULL AND NOT ready.parked`,
    event: { joins: places(t), columns: eventColumns(t) },
    handled: {
      joins: `${places(t)} LEFT JOIN ${rowOf(t.imported, 'imported', 'found.seq = events.seq')} ON true`,
      columns: HANDLED,
    },
    jsonObject: 'json_build_object',
    jsonList: 'json_agg',
    fromJson,
    dead: { from: `${t.shelf} WHERE ${DEAD_WITH_BODIES}`, print: PRINT },
    toKey,
    returningSeq: 'RETURNING seq',
    forUpdate: 'FOR UPDATE',
    now: '(extract(epoch FROM clock_timestamp()) * 1000)::bigint',
    state: STATE,
    stateToActOn: stateToActOn(t),
    queued: 'queue',
  };
}

const ofPlace = (column: string): string => `coalesce(queue.${column}, shelf.${column}, imported.${column})`;

const HANDLED = `
  ${ofPlace('due_ms')} AS due_ms,
  CASE WHEN queue.seq IS NULL THEN coalesce(shelf.settled_ms, imported.settled_ms) END AS settled_ms,
  ${ofPlace('attempts')} AS begun, ${ofPlace('failures')} AS failures, ${ofPlace('crashes')} AS crashes,
  ${ofPlace('trigger')} AS trigger, shelf.fingerprint, queue.yields`;

/** Only the attempts of a processed event say how it went. Its failures are those since it was stored or rerun. */
function eventColumns(t: Tables): string {
  const ofAttempts = (column: string): string =>
    `(SELECT ${column} FROM ${t.attempts} WHERE seq = events.seq ORDER BY number DESC LIMIT 1)`;
  const failures = `
    (SELECT count(*) FROM ${t.attempts} WHERE seq = events.seq AND outcome = 'failed' AND number >= coalesce(
      (SELECT max(number) FROM ${t.attempts} WHERE seq = events.seq AND trigger = 'manual'), 0))`;
  return `${STATE}, shelf.settled_ms AS put_away_ms,
    CASE WHEN queue.seq IS NULL THEN coalesce(shelf.settled_ms, ${ofAttempts('ended_ms')}) END AS settled_ms, queue.due_ms,
    coalesce(queue.attempts, shelf.attempts, ${ofAttempts('number')}, 0) AS attempts,
    coalesce(queue.failures, shelf.failures, ${failures}) AS failures, shelf.fingerprint`;
}

/** The tables of a schema. */
export function operatorTables({ store, ask, notify }: Access): OperatorTables {
  const { database, t, time } = store;
  const dialect = postgres(t);
  const { toDatabase, toCaller } = time;
  const readUntil = (signal: AbortSignal | undefined): Read => {
    const until = database.until(signal);
    return (work) =>
      until.read(async (session) => {
        await time.follow(session);
        return work({ toDatabase, toCaller, rows: rowsIn(session) });
      });
  };
  return {
    dialect,
    read: (work, signal) => ask(() => readUntil(signal)(work)),
    inSteps: (work, signal) => ask(() => work(readUntil(signal))),
    change({ locks, isRepeatable = false, load, plan }) {
      const done = <T>(asked: Omit<Asked<T>, 'wasDone'>) =>
        ask(() => (isRepeatable ? database.transaction(asked) : doneOnce(store.database, asked)));
      return done({
        before: (session) => time.follow(session),
        async work(session) {
          const all = (statements: readonly Statement[]) => Promise.all(statements.map(rowsIn(session)));
          if (locks !== undefined) await session.exec(`LOCK TABLE ${t[locks]} IN SHARE ROW EXCLUSIVE MODE`);
          const loaded = await all(load?.(time) ?? []);
          const { save = [], result } = plan(loaded as never, time); // the rows of its statements
          return result(await all(save));
        },
      });
    },
    append(statements) {
      const appending = {
        before: (session: Session) => time.follow(session),
        async work(session: Session) {
          await Promise.all(statements(time).map(rowsIn(session)));
        },
      };
      return ask(() => doneOnce(database, appending, { result: undefined }));
    },
    notify,
  };
}

export function rowsIn(session: Session): Reader['rows'] {
  return (statement) => session.rows(statement);
}

/** The inbox, as the operators' part reaches it. */
export interface Access {
  readonly store: Store;
  /** Makes a call of the inbox. Its failures are those of the contract. */
  readonly ask: <T>(work: () => Promise<T>) => Promise<T>;
  /** Tells processors that events may have become due. */
  readonly notify: () => void;
}

/** Adds a line in the transaction of its action, and returns its `seq`. */
export async function addAuditLine(
  { session, t }: Reading,
  act: string,
  author: Author,
  filter: unknown,
  counts: AuditLine['counts'],
): Promise<number> {
  const line = await session.row<{ seq: number }>(auditLine(postgres(t), act, author, filter, counts));
  return line?.seq ?? 0;
}

export async function addToAuditLine({ session, t }: Reading, seq: number, more: AuditLine['counts']): Promise<void> {
  const line = await session.row<{ seq: number; counts: string }>(countsOfLine(postgres(t), seq));
  for (const save of moreCounts(t, line, more)) await session.run(save);
}

/** The group of a dead event, as its index has it. */
const PRINT = 'coalesce(fingerprint, dead_reason)';
/** Dead events without tombstones, as an index has them. Every group has a name. */
export const DEAD_WITH_BODIES = `state = 'dead' AND NOT pruned AND ${PRINT} > ''`;
