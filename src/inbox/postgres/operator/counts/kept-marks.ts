import type { Mark, Marks } from '../../../operator/marks.ts';
import {
  MARKS_KEPT,
  MARKS_SHOWN,
  noteRelease,
  noteSecret,
  type KeptMark,
  type MarkEngine,
} from '../../../rules/marks.ts';
import { asked, awaited, type Steps } from '../../../rules/steps.ts';
import type { Session } from '../../driver/session.ts';
import { fromText, toText } from '../../driver/values.ts';
import type { Tables } from '../../sql/tables.ts';
import type { Access } from '../access.ts';

interface MarkRow {
  readonly seq: number;
  readonly name: string;
  readonly at: number;
  readonly seen_ms: number;
  readonly ended_ms: number | null;
}

export function marks({ store, ask }: Access): Marks {
  const { database, t, time } = store;
  /** One after the other, so that two machines that start at once begin a release together. */
  const noted = (rule: (engine: MarkEngine) => Steps<void>): Promise<void> =>
    ask(() =>
      database.transaction({
        before: (session) => time.follow(session),
        async work(session) {
          await session.run(`LOCK TABLE ${t.marks} IN SHARE ROW EXCLUSIVE MODE`);
          await awaited(rule(engineOn(session, t)));
        },
      }),
    );
  return {
    noteRelease: (seen) => noted((engine) => noteRelease(engine, { ...seen, at: time.toDatabase(seen.at) })),
    noteSecret: ({ endpoint, after, at }) =>
      noted((engine) => noteSecret(engine, { endpoint, after: time.toDatabase(after), at: time.toDatabase(at) })),
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
              name: fromText(name),
              endpoint: fromText(endpoint),
              at: new Date(time.toCaller(at)),
            }))
            .toReversed();
        }),
      ),
  };
}

function engineOn(session: Session, t: Tables): MarkEngine {
  return {
    newestRelease(endpoint, name) {
      const named = name === undefined ? '' : 'AND name = $2';
      const found = session.row<MarkRow>(
        `SELECT seq, name, at_ms AS at, seen_ms, ended_ms FROM ${t.marks} WHERE kind = 'release' ${named}
           AND (endpoint IN ($1, '*') OR $1 = '*')
         ORDER BY at_ms DESC, seq DESC LIMIT 1`,
        [endpoint, ...(name === undefined ? [] : [name])].map(toText),
      );
      return asked(found.then(markOf));
    },
    hasSecret(endpoint, since, until) {
      const found = session.row(
        `SELECT 1 FROM ${t.marks} WHERE kind = 'secret' AND name = $1 AND at_ms BETWEEN $2 AND $3 LIMIT 1`,
        [toText(endpoint), since, until],
      );
      return asked(found.then((row) => row !== undefined));
    },
    addMark({ kind, name, endpoint }, at) {
      const added = session.run(
        `INSERT INTO ${t.marks} (kind, name, endpoint, at_ms, seen_ms) VALUES ($1, $2, $3, $4, $4)`,
        [kind, toText(name), toText(endpoint), at],
      );
      const forget = `DELETE FROM ${t.marks} WHERE seq <= (SELECT max(seq) FROM ${t.marks}) - ${MARKS_KEPT}`;
      return asked(added.then(() => session.run(forget)).then(() => {}));
    },
    seeMark(seq, seenAt, endedAt) {
      const text = `UPDATE ${t.marks} SET seen_ms = $2, ended_ms = $3 WHERE seq = $1`;
      return asked(session.run(text, [seq, seenAt, endedAt]).then(() => {}));
    },
  };
}

function markOf(row: MarkRow | undefined): KeptMark | undefined {
  if (row === undefined) return undefined;
  const { seq, name, at, seen_ms: seenAt, ended_ms: endedAt } = row;
  return { seq, name: fromText(name), at, seenAt, endedAt };
}
