import { foldTypes, hasOwnType, NamedTypes, minuteOf, Tally } from '../../rules/counted.ts';
import { prepareMoves } from '../moves.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { prepareQueueStatements } from './queue-statements.ts';
import { statement } from './statement.ts';

export type NamedStatements = ReturnType<typeof prepareNamedStatements>;

export function prepareNamedStatements(database: SqliteDatabase) {
  return {
    database,
    counts: new MinuteCounts(database),
    moves: prepareMoves(database),
    queue: prepareQueueStatements(database),
  };
}

export const ADD_COUNT = `
  INSERT INTO hookbox_counts (minute_ms, what, detail, count) VALUES ($1, $2, $3, $4)
  ON CONFLICT (minute_ms, what, detail) DO UPDATE SET count = count + excluded.count`;

/** Counts what a transaction does: one row a minute for each kind, however many events share the commit. */
class MinuteCounts extends Tally {
  readonly #database: SqliteDatabase;
  readonly #named = new NamedTypes();

  constructor(database: SqliteDatabase) {
    super();
    this.#database = database;
  }

  write(): void {
    let sums = this.take();
    if (sums.length === 0) return;
    if (hasOwnType(sums)) sums = foldTypes(sums, this.#namedTypes());
    const minute = minuteOf(Date.now());
    const add = statement(this.#database, ADD_COUNT);
    for (const { what, detail, count } of sums) add.run({ 1: minute, 2: what, 3: detail, 4: count });
  }

  #namedTypes(): ReadonlySet<string> {
    if (this.#named.isFresh) return this.#named.names;
    const handled = statement<{ type: string }>(this.#database, 'SELECT DISTINCT type FROM hookbox_handling').all();
    return this.#named.learn(handled.map(({ type }) => type));
  }
}
