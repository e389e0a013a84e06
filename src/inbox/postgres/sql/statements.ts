import type { Statement } from '../../operator/sql.ts';
import { minuteInTables, type CountRow } from '../../rules/counted.ts';
import type { DatabaseTime } from '../database-time.ts';
import { toKey, type Tables } from './tables.ts';

/** A statement with its values. */
export type Write = Required<Statement>;

/**
 * Writes of which none needs to see what another has done, as one statement: each would be a round trip. None of them may
 * change a row that another one changes, nor have a write in its own WITH.
 */
export function inOneStatement(writes: readonly Write[]): Write {
  const [only] = writes;
  if (only !== undefined && writes.length === 1) return only;
  const values: unknown[] = [];
  const named = writes.map((write, at) => {
    const before = values.length;
    values.push(...write.values);
    return `write_${at} AS (${write.text.replaceAll(/\$(\d+)/g, (_, place) => `$${Number(place) + before}`)})`;
  });
  return { text: `WITH ${named.join(', ')} SELECT`, values };
}

/** Leaves out writes of no rows: the first value of each is an array with an item for each row. */
export function withRows(writes: readonly Write[]): readonly Write[] {
  return writes.filter(({ values: [first] }) => Array.isArray(first) && first.length > 0);
}

/** Adds to what was counted, at times of the caller's clock. */
export function countsToAdd(t: Tables, time: Pick<DatabaseTime, 'toDatabase'>, rows: readonly CountRow[]): Write {
  return {
    text: `
      INSERT INTO ${t.counts} (minute_ms, what, detail, count)
      SELECT minute_ms, what, detail, sum(count)
      FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS given (minute_ms, what, detail, count)
      GROUP BY 1, 2, 3`,
    values: [
      rows.map(({ at }) => minuteInTables(time, at)),
      rows.map(({ what }) => what),
      rows.map(({ detail }) => toKey(detail)),
      rows.map(({ count }) => count),
    ],
  };
}
