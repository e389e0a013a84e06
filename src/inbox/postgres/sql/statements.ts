import type { Statement } from '../../operator/sql.ts';
import { minuteInTables, type CountRow } from '../../rules/counted.ts';
import type { DatabaseTime } from '../database-time.ts';
import type { Session } from '../driver/session.ts';
import { rowOf, toKey, type Tables } from './tables.ts';

export type Write = Required<Statement>;

/** Columns that end with `_ms` are `bigint`, and all others are `text`. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  bigint: ['seq', 'attempt', 'fence', 'claim', 'found_by', 'count', 'bytes'],
  integer: ['created_ns', 'number', 'attempts', 'attempt_limit', 'failures', 'crashes', 'failed', 'crashed'],
  smallint: ['slot'],
  boolean: ['verified', 'valid', 'in_order', 'yields', 'prunable'],
  bytea: ['body', 'body_sha256'],
};

type Columns<S extends string> = S extends `${infer First}, ${infer Rest}` ? First | Columns<Rest> : S;
type Row<S extends string> = Readonly<Record<Exclude<Columns<S>, 'place'>, unknown>>;

/** For FROM: a list for each column, from `$1` on. `place` is the number of a row. */
export function given(columns: string): string {
  const lists = listed(columns).map((name, at) => `$${at + 1}::${typeOf(name)}[]`);
  const numbered = columns.endsWith(', place') ? ' WITH ORDINALITY' : '';
  return `unnest(${lists.join(', ')})${numbered} AS given (${columns})`;
}

export function lists<S extends string>(columns: S, rows: readonly Row<S>[]): unknown[][] {
  return (listed(columns) as (keyof Row<S>)[]).map((name) => rows.map((row) => row[name]));
}

function listed(columns: string): readonly string[] {
  return columns.split(', ').filter((name) => name !== 'place');
}

function typeOf(column: string): string {
  if (column.endsWith('_ms')) return 'bigint';
  return Object.keys(TYPES).find((type) => TYPES[type]?.includes(column)) ?? 'text';
}

/** The values of `more` come after the lists. */
export function about<S extends string>(columns: S, text: (given: string) => string) {
  const whole = text(given(columns));
  return (rows: readonly Row<S>[], ...more: readonly unknown[]): Write => ({
    text: whole,
    values: [...lists(columns, rows), ...more],
  });
}

export function aboutEvents(text: string): (seqs: readonly number[], ...more: readonly unknown[]) => Write {
  return (seqs, ...more) => ({ text, values: [seqs, ...more] });
}

/** The first value is a list with an item for each row. */
export function hasRows({ values: [first] }: Write): boolean {
  return !Array.isArray(first) || first.length > 0;
}

/**
 * In one round trip. No statement may need the rows of another, change the same row, or have a write in its WITH.
 */
export async function writeTogether(session: Session, writes: readonly Write[]): Promise<void> {
  const some = writes.filter(hasRows);
  const [only] = some;
  if (only === undefined) return;
  if (some.length === 1) return void (await session.run(only));
  const values: unknown[] = [];
  const named = some.map((write, at) => {
    const before = values.length;
    values.push(...write.values);
    return `write_${at} AS (${write.text.replaceAll(/\$(\d+)/g, (_, place) => `$${Number(place) + before}`)})`;
  });
  await session.run(`WITH ${named.join(', ')} SELECT`, values);
}

/** For FROM: events by the keys of `given`. */
export function eventOfKey(t: Tables, columns: 'id, endpoint' | 'id, endpoint, place' = 'id, endpoint'): string {
  const event = rowOf(t.events, 'events', 'found.id = given.id AND found.endpoint = given.endpoint');
  return `${given(columns)} CROSS JOIN ${event}`;
}

const COUNTED = 'minute_ms, what, detail, count';

/** At times of the caller's clock. */
export function countsToAdd(t: Tables, time: Pick<DatabaseTime, 'toDatabase'>, rows: readonly CountRow[]): Write {
  const text = `
    INSERT INTO ${t.counts} (${COUNTED})
    SELECT minute_ms, what, detail, sum(count) FROM ${given(COUNTED)} GROUP BY 1, 2, 3`;
  const counted = rows.map(({ at, detail, ...row }) => ({
    ...row,
    minute_ms: minuteInTables(time, at),
    detail: toKey(detail),
  }));
  return { text, values: lists(COUNTED, counted) };
}
