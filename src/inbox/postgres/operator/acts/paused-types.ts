import { authorOf } from '../../../operator/author.ts';
import type { Pauses, StoredPause } from '../../../operator/pauses.ts';
import type { Author } from '../../../rules/audit-line.ts';
import { assertLane, pauseType, resumeType, type PauseRecords } from '../../../rules/pauses.ts';
import { asked, awaited } from '../../../rules/steps.ts';
import { COUNTED, waitingBehind } from '../../../rules/unhandled-report.ts';
import { textOrNull, toText } from '../../driver/values.ts';
import type { Scene } from '../../engine/scene.ts';
import { PAUSE_COLUMNS, pauseOf, type PauseRow } from '../../sql/pause-row.ts';
import type { Access } from '../access.ts';
import { auditLines } from '../audit/audit-line.ts';
import { doneOnce } from '../done-once.ts';

interface CountedRow extends PauseRow {
  readonly waiting: number;
  readonly unseen: boolean;
}

/** Pauses, on the tables of a schema. */
export function pausedTypes({ store, ask, notify }: Access): Pauses {
  const { database, t, time } = store;
  const inDatabase = (author: Author): Author => ({ ...author, now: time.toDatabase(author.now) });
  const toCaller = (pause: StoredPause): StoredPause => ({
    ...pause,
    since: new Date(time.toCaller(pause.since.getTime())),
  });

  return {
    async pauseType({ endpoint, type }, by) {
      const author = authorOf(by);
      assertLane({ endpoint, type });
      const { pause, changed } = await ask(() =>
        doneOnce(store, {
          before: (session) => time.follow(session),
          work: (session) => awaited(pauseType(pauseRecords({ session, t }), { endpoint, type }, inDatabase(author))),
        }),
      );
      return { pause: toCaller(pause), changed };
    },
    async resumeType({ endpoint, type }, by) {
      const author = authorOf(by);
      assertLane({ endpoint, type });
      const ended = await ask(() =>
        doneOnce(store, {
          before: (session) => time.follow(session),
          work: (session) => awaited(resumeType(pauseRecords({ session, t }), { endpoint, type }, inDatabase(author))),
        }),
      );
      if (ended !== null) notify();
      return ended && toCaller(ended);
    },
    async pausedTypes() {
      const rows = await ask(() =>
        database.read(async (session) => {
          await time.follow(session);
          // Of those that are set aside, the oldest, and one more than are counted.
          return session.rows<CountedRow>(`
            WITH aside AS MATERIALIZED (
              SELECT endpoint, type FROM ${t.queue} WHERE parked ORDER BY seq + 0 LIMIT ${COUNTED + 1}
            )
            SELECT ${PAUSE_COLUMNS}, (
              SELECT count(*) FROM (
                SELECT 1 FROM ${t.queue} AS queue
                WHERE lease_until_ms IS NULL AND NOT parked AND queue.endpoint = pauses.endpoint AND queue.type = pauses.type
                LIMIT ${COUNTED + 1}
              ) AS ready
            ) + (
              SELECT count(*) FROM aside WHERE aside.endpoint = pauses.endpoint AND aside.type = pauses.type
            ) AS waiting, (SELECT count(*) FROM aside) > ${COUNTED} AS unseen
            FROM ${t.pauses} AS pauses ORDER BY endpoint, type`);
        }),
      );
      return rows.map((row) => ({ ...toCaller(pauseOf(row)), ...waitingBehind(row.waiting, row.unseen) }));
    },
  };
}

function pauseRecords({ session, t }: Pick<Scene, 'session' | 't'>): PauseRecords {
  const run = (text: string, values: readonly unknown[]) => asked(session.run(text, values).then(() => {}));
  return {
    ...auditLines({ session, t }),
    pauseOf({ endpoint, type }) {
      const find = async () => {
        // Of two machines one waits for the other, and finds what that has done.
        await session.run(`LOCK TABLE ${t.pauses} IN SHARE ROW EXCLUSIVE MODE`, []);
        const text = `SELECT ${PAUSE_COLUMNS} FROM ${t.pauses} WHERE endpoint = $1 AND type = $2`;
        const row = await session.row<PauseRow>(text, [toText(endpoint), toText(type)]);
        return row === undefined ? null : pauseOf(row);
      };
      return asked(find());
    },
    savePause: ({ endpoint, type }, { now, actor, reason }) =>
      run(`INSERT INTO ${t.pauses} (${PAUSE_COLUMNS}) VALUES ($1, $2, $3, $4, $5)`, [
        toText(endpoint),
        toText(type),
        now,
        toText(actor),
        textOrNull(reason),
      ]),
    removePause: ({ endpoint, type }) =>
      run(`DELETE FROM ${t.pauses} WHERE endpoint = $1 AND type = $2`, [toText(endpoint), toText(type)]),
  };
}
