import {
  MARKS_KEPT,
  MARKS_SHOWN,
  planRelease,
  planSecret,
  spanOfSecret,
  type KeptMark,
  type Mark,
  type MarkChange,
  type ReleaseSeen,
  type SecretChanged,
} from '../rules/marks.ts';
import { type OperatorTables, type OperatorTransaction, type Statement } from './sql.ts';

export interface Marks {
  noteRelease(seen: ReleaseSeen): Promise<void>;
  noteSecret(changed: SecretChanged): Promise<void>;
  /** Returns the newest 50 marks between `since` and `until` (milliseconds since 1970), oldest first. */
  marks(since: number, until: number): Promise<readonly Mark[]>;
}

const MARK = 'seq, name, at_ms AS at, seen_ms AS "seenAt", ended_ms AS "endedAt"';

/** Machines change marks one at a time, because several may start with a new release. */
export function marks(tables: OperatorTables): Marks {
  const { t } = tables.dialect;
  const newest = (which: string, values: readonly unknown[]): Statement => {
    const ofEndpoint = "kind = 'release' AND (endpoint IN ($1, '*') OR $1 = '*')";
    const text = `SELECT ${MARK} FROM ${t.marks} WHERE ${ofEndpoint} ${which} ORDER BY at_ms DESC, seq DESC LIMIT 1`;
    return { text, values };
  };
  return {
    noteRelease: (seen) =>
      tables.change(
        async (tx) => {
          const [own] = await tx.rows<KeptMark>(newest('AND name = $2', [seen.endpoint, seen.name]));
          const [any] = await tx.rows<KeptMark>(newest('', [seen.endpoint]));
          await save(tx, planRelease(own, any, { ...seen, at: tx.toDatabase(seen.at) }));
        },
        { locks: 'marks' },
      ),
    noteSecret: ({ endpoint, after, at }) =>
      tables.change(
        async (tx) => {
          const changed = { endpoint, after: tx.toDatabase(after), at: tx.toDatabase(at) };
          const { since, until } = spanOfSecret(changed);
          const text = `
            SELECT 1 FROM ${t.marks} WHERE kind = 'secret' AND name = $1 AND at_ms BETWEEN $2 AND $3 LIMIT 1`;
          const found = await tx.rows({ text, values: [endpoint, since, until] });
          await save(tx, planSecret(found.length > 0, changed));
        },
        { locks: 'marks' },
      ),
    async marks(since, until) {
      const text = `
        SELECT kind, name, endpoint, at_ms AS at FROM ${t.marks} WHERE at_ms >= $1 AND at_ms < $2
        ORDER BY at_ms DESC, seq DESC LIMIT ${MARKS_SHOWN}`;
      return tables.read(async ({ rows, toDatabase, toCaller }) => {
        const found = await rows<Omit<Mark, 'at'> & { at: number }>({ text, values: [since, until].map(toDatabase) });
        return found.map((row) => ({ ...row, at: new Date(toCaller(row.at)) })).toReversed();
      });
    },
  };
}

async function save({ dialect: { t }, rows }: OperatorTransaction, change: MarkChange | null): Promise<void> {
  if (change === null) return;
  if (change.kind === 'seen') {
    const text = `UPDATE ${t.marks} SET seen_ms = $2, ended_ms = $3 WHERE seq = $1`;
    await rows({ text, values: [change.seq, change.seenAt, change.endedAt] });
    return;
  }
  const { kind, name, endpoint } = change.mark;
  const text = `INSERT INTO ${t.marks} (kind, name, endpoint, at_ms, seen_ms) VALUES ($1, $2, $3, $4, $4)`;
  await rows({ text, values: [kind, name, endpoint, change.at] });
  await rows({ text: `DELETE FROM ${t.marks} WHERE seq <= (SELECT max(seq) FROM ${t.marks}) - ${MARKS_KEPT}` });
}
