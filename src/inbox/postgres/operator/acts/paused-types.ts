import { authorOf } from '../../../operator/author.ts';
import type { EndpointType, Pauses, StoredPause } from '../../../operator/pauses.ts';
import type { Author } from '../../../rules/audit-line.ts';
import { assertLane, pausedSeconds, planPause } from '../../../rules/pauses.ts';
import { COUNTED, waitingBehind } from '../../../rules/unhandled-report.ts';
import type { Scene } from '../../engine/scene.ts';
import { PAUSE_COLUMNS, pauseOf, type PauseRow } from '../../sql/pause-row.ts';
import type { Access } from '../access.ts';
import { addAuditLine } from '../audit/audit-line.ts';
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
          work: (session) => beginPause({ session, t }, { endpoint, type }, inDatabase(author)),
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
          work: (session) => endPause({ session, t }, { endpoint, type }, inDatabase(author)),
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

type Place = Pick<Scene, 'session' | 't'>;

async function beginPause(place: Place, { endpoint, type }: EndpointType, author: Author) {
  const { session, t } = place;
  const lane = [endpoint, type];
  await lock(place);
  const row = await session.row<PauseRow>(
    `SELECT ${PAUSE_COLUMNS} FROM ${t.pauses} WHERE endpoint = $1 AND type = $2`,
    lane,
  );
  const plan = planPause(row === undefined ? null : pauseOf(row), { endpoint, type }, author);
  if (!plan.changed) return plan;
  const { now, actor, reason } = author;
  await Promise.all([
    addAuditLine(place, 'pause', author, { endpoint, type }, {}),
    session.run(`INSERT INTO ${t.pauses} (${PAUSE_COLUMNS}) VALUES ($1, $2, $3, $4, $5)`, [
      ...lane,
      now,
      actor,
      reason,
    ]),
  ]);
  return plan;
}

async function endPause(place: Place, { endpoint, type }: EndpointType, author: Author): Promise<StoredPause | null> {
  const { session, t } = place;
  await lock(place);
  const row = await session.row<PauseRow>(
    `DELETE FROM ${t.pauses} WHERE endpoint = $1 AND type = $2 RETURNING ${PAUSE_COLUMNS}`,
    [endpoint, type],
  );
  if (row === undefined) return null;
  const ended = pauseOf(row);
  await addAuditLine(place, 'resume', author, { endpoint, type }, { seconds: pausedSeconds(ended, author.now) });
  return ended;
}

/** Of two machines one waits for the other, and finds what that has done. */
async function lock({ session, t }: Place): Promise<void> {
  await session.run(`LOCK TABLE ${t.pauses} IN SHARE ROW EXCLUSIVE MODE`, []);
}
