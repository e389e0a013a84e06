import { foldTypes, hasOwnType, NamedTypes, minuteOf, type CountTotal, Tally } from '../../rules/counted.ts';
import { prepareMoves } from '../moves.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { prepareKnownEventStatements, prepareQueueStatements } from './queue-statements.ts';
import { lazyStatement, keyIs, statement } from './statement.ts';

export type NamedStatements = ReturnType<typeof prepareNamedStatements>;

/** Every statement of the inbox by name, prepared once for a connection. */
export function prepareNamedStatements(database: SqliteDatabase) {
  const prepare = (sql: string) => lazyStatement(database, sql);
  return {
    /** for what is prepared only when it is first needed */
    database,
    counts: new MinuteCounts(database),
    moves: prepareMoves(database),
    queue: prepareQueueStatements(database),
    known: prepareKnownEventStatements(database),

    getEvent: prepare(`SELECT * FROM hookbox_events WHERE ${keyIs()}`),
    listEvents: prepare('SELECT * FROM hookbox_events WHERE seq > ? ORDER BY seq LIMIT +?'),
  };
}

/** Adds to what was counted in a minute. */
export const ADD_COUNT = `
  INSERT INTO hookbox_counts (minute_ms, what, detail, count) VALUES ($1, $2, $3, $4)
  ON CONFLICT (minute_ms, what, detail) DO UPDATE SET count = count + excluded.count`;

/**
 * Counts what one transaction does, and writes the sums with it: one row a minute for each kind, however many events share
 * the commit. So the counts are as true as the events, and a delivery hardly notices.
 */
class MinuteCounts extends Tally {
  readonly #database: SqliteDatabase;
  readonly #named = new NamedTypes();

  constructor(database: SqliteDatabase) {
    super();
    this.#database = database;
  }

  /** Writes the sums; call it before the commit. */
  write(): void {
    const sums = this.#byKnownType(this.take());
    if (sums.length === 0) return;
    const minute = minuteOf(Date.now());
    const add = statement(this.#database, ADD_COUNT);
    for (const { what, detail, count } of sums) add.run({ 1: minute, 2: what, 3: detail, 4: count });
  }

  #byKnownType(sums: readonly CountTotal[]): readonly CountTotal[] {
    if (!hasOwnType(sums)) return sums;
    return foldTypes(sums, this.#named.isFresh ? this.#named.names : this.#named.learn(handledTypes(this.#database)));
  }

  /** The transaction is over, one way or the other. */
  forget(): void {
    this.take();
  }
}

function handledTypes(database: SqliteDatabase): readonly string[] {
  const rows = statement(database, 'SELECT DISTINCT type FROM hookbox_handling').all() as { readonly type: string }[];
  return rows.map(({ type }) => type);
}
