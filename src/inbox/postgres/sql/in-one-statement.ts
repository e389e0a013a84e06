import type { Statement } from '../../operator/sql.ts';

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
