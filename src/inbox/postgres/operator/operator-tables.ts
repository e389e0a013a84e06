import { type Dialect, type OperatorTables, type Reader, type Statement } from '../../operator/sql.ts';
import { appendOnce } from '../driver/append-once.ts';
import type { Asked } from '../driver/database.ts';
import type { Session } from '../driver/session.ts';
import { places, STATE, stateToActOn } from '../sql/records.ts';
import { rowOf, type Tables } from '../sql/tables.ts';
import type { Access } from './access.ts';
import { doneOnce } from './done-once.ts';

export function postgres(t: Tables): Dialect {
  return {
    t,
    keyIs: (id, endpoint) => `id = ${id} AND endpoint = ${endpoint}`,
    anyOf: (column, parameter, type) => `${column} = ANY(${parameter}::${type}[])`,
    joinRow: (table, as, where) => `CROSS JOIN ${rowOf(table, as, where('found'))}`,
    list: (parameter, type) => `unnest(${parameter}::${type}[]) AS list (value)`,
    aside: (limit) => `SELECT endpoint, type, 1 AS list FROM ${t.queue} WHERE parked ORDER BY seq + 0 LIMIT ${limit}`,
    ready: `${t.queue} AS ready WHERE ready.lease_until_ms IS NULL AND NOT ready.parked`,
    returningSeq: 'RETURNING seq',
    forUpdate: 'FOR UPDATE',
    now: '(extract(epoch FROM clock_timestamp()) * 1000)::bigint',
    places: places(t),
    state: STATE,
    stateToActOn: stateToActOn(t),
    queued: 'queue',
  };
}

/** The tables of a schema. */
export function operatorTables({ store, ask, notify }: Access): OperatorTables {
  const { database, t, time } = store;
  const dialect = postgres(t);
  const { toDatabase, toCaller } = time;
  return {
    dialect,
    read: (work, signal) =>
      ask(() =>
        database.until(signal).read(async (session) => {
          await time.follow(session);
          return work({ toDatabase, toCaller, rows: rowsIn(session) });
        }),
      ),
    change({ locks, isRepeatable = false, load, plan }) {
      const done = <T>(asked: Omit<Asked<T>, 'wasDone'>) =>
        ask(() => (isRepeatable ? database.transaction(asked) : doneOnce(store, asked)));
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
      const append = (session: Session) => Promise.all(statements(time).map(rowsIn(session)));
      return ask(() => appendOnce(database, (session) => time.follow(session), append));
    },
    notify,
  };
}

function rowsIn(session: Session): Reader['rows'] {
  return ({ text, values = [] }) => session.rows(text, values);
}
