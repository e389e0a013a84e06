import type { Mark, Marks, ReleaseSeen, SecretChanged } from '../../../operator/marks.ts';
import {
  MARKS_KEPT,
  MARKS_SHOWN,
  planRelease,
  planSecret,
  spanOfSecret,
  type KeptMark,
  type MarkChange,
} from '../../../rules/marks.ts';
import type { Session } from '../../driver/session.ts';
import type { Tables } from '../../sql/tables.ts';
import type { Access } from '../access.ts';

interface MarkRow {
  readonly own: boolean;
  readonly seq: number;
  readonly name: string;
  readonly at: number;
  readonly seen_ms: number;
  readonly ended_ms: number | null;
}

export function marks({ store, ask }: Access): Marks {
  const { database, t, time } = store;
  /** One after the other, so that two machines that start at once begin a release together. */
  const note = (plan: (session: Session) => Promise<MarkChange | null>): Promise<void> =>
    ask(() =>
      database.transaction({
        before: (session) => time.follow(session),
        async work(session) {
          await session.run(`LOCK TABLE ${t.marks} IN SHARE ROW EXCLUSIVE MODE`);
          await save(session, t, await plan(session));
        },
      }),
    );
  return {
    noteRelease: (seen) => note((session) => release(session, t, { ...seen, at: time.toDatabase(seen.at) })),
    noteSecret: ({ endpoint, after, at }) =>
      note((session) => secret(session, t, { endpoint, after: time.toDatabase(after), at: time.toDatabase(at) })),
    marks: (since, until) =>
      ask(() =>
        database.read(async (session) => {
          await time.follow(session);
          const rows = await session.rows<{ kind: Mark['kind']; name: string; endpoint: string; at: number }>(
            `SELECT kind, name, endpoint, at_ms AS at FROM ${t.marks} WHERE at_ms >= $1 AND at_ms < $2
             ORDER BY at_ms DESC, seq DESC LIMIT ${MARKS_SHOWN}`,
            [time.toDatabase(since), time.toDatabase(until)],
          );
          return rows
            .map(({ kind, name, endpoint, at }) => ({
              kind,
              name,
              endpoint,
              at: new Date(time.toCaller(at)),
            }))
            .toReversed();
        }),
      ),
  };
}

async function release(session: Session, t: Tables, seen: ReleaseSeen): Promise<MarkChange | null> {
  const newest = (own: boolean): string => `(
    SELECT ${own} AS own, seq, name, at_ms AS at, seen_ms, ended_ms FROM ${t.marks}
    WHERE kind = 'release' AND (endpoint IN ($1, '*') OR $1 = '*') ${own ? 'AND name = $2' : ''}
    ORDER BY at_ms DESC, seq DESC LIMIT 1
  )`;
  const text = `${newest(true)} UNION ALL ${newest(false)}`;
  const rows = await session.rows<MarkRow>(text, [seen.endpoint, seen.name]);
  return planRelease(markOf(rows.find(({ own }) => own)), markOf(rows.find(({ own }) => !own)), seen);
}

async function secret(session: Session, t: Tables, changed: SecretChanged): Promise<MarkChange | null> {
  const { since, until } = spanOfSecret(changed);
  const row = await session.row(
    `SELECT 1 FROM ${t.marks} WHERE kind = 'secret' AND name = $1 AND at_ms BETWEEN $2 AND $3 LIMIT 1`,
    [changed.endpoint, since, until],
  );
  return planSecret(row !== undefined, changed);
}

async function save(session: Session, t: Tables, change: MarkChange | null): Promise<void> {
  if (change === null) return;
  if (change.kind === 'seen') {
    const { seq, seenAt, endedAt } = change;
    await session.run(`UPDATE ${t.marks} SET seen_ms = $2, ended_ms = $3 WHERE seq = $1`, [seq, seenAt, endedAt]);
    return;
  }
  const { mark, at } = change;
  await session.run(`INSERT INTO ${t.marks} (kind, name, endpoint, at_ms, seen_ms) VALUES ($1, $2, $3, $4, $4)`, [
    mark.kind,
    mark.name,
    mark.endpoint,
    at,
  ]);
  await session.run(`DELETE FROM ${t.marks} WHERE seq <= (SELECT max(seq) FROM ${t.marks}) - ${MARKS_KEPT}`);
}

function markOf(row: MarkRow | undefined): KeptMark | undefined {
  if (row === undefined) return undefined;
  const { seq, name, at, seen_ms: seenAt, ended_ms: endedAt } = row;
  return { seq, name, at, seenAt, endedAt };
}
