import {
  assertLane,
  PAUSE_COLUMNS,
  pausedSeconds,
  pauseOf,
  pauseWrite,
  hasEnded,
  lastingPauses,
  planPause,
  type PauseRow,
  type EndpointType,
  type StoredPause,
} from '../rules/pauses.ts';
import { COUNTED } from '../rules/processors.ts';
import { isSameTime } from '../rules/shown.ts';
import type { By } from './acts.ts';
import { addLine } from './audit.ts';
import { actingBy, type Clock, type OperatorTables } from './sql.ts';

/** A pause, and the number of pending events of the paused type. */
export interface Pause extends StoredPause {
  /** The number of pending events of the paused type, counted up to a limit. */
  readonly waiting: number;
  /** `true` if there are, or may be, more than `waiting`. */
  readonly more: boolean;
}

/** Pauses of types. The transaction of each also writes its audit line. */
export interface Pauses {
  /** If the type was already paused, `changed` is `false`, and the earlier pause stays. */
  pauseType(lane: EndpointType, by: By): Promise<{ readonly pause: StoredPause; readonly changed: boolean }>;
  /**
   * Resumes a type. Returns the pause that was ended, or `null` if the type was not paused.
   *
   * @param since - the start of the pause that an operator saw; a pause with another start stays
   */
  resumeType(lane: EndpointType, by: By, since?: Date): Promise<StoredPause | null>;
  /** Lists paused types by endpoint and type. */
  pausedTypes(now?: number): Promise<readonly Pause[]>;
}

interface CountedRow extends PauseRow {
  readonly waiting: number;
  readonly unseen: unknown;
}

export function pauses(tables: OperatorTables): Pauses {
  const { t, aside, ready } = tables.dialect;
  const ofType = `${t.pauses} WHERE endpoint = $1 AND type = $2`;
  const toCaller = ({ since, until, ...pause }: StoredPause, clock: Clock): StoredPause => {
    const at = (time: Date): Date => new Date(clock.toCaller(time.getTime()));
    return { ...pause, since: at(since), ...(until !== undefined && { until: at(until) }) };
  };
  return {
    async pauseType({ endpoint, type }, by) {
      const author = actingBy(by);
      assertLane({ endpoint, type });
      return tables.change(
        async (tx) => {
          const found = await tx.rows<PauseRow>({
            text: `SELECT ${PAUSE_COLUMNS} FROM ${ofType}`,
            values: [endpoint, type],
          });
          const by = author(tx);
          const { pause, changed } = planPause(found.map(pauseOf)[0] ?? null, { endpoint, type }, by);
          if (changed) {
            await addLine(tx, 'pause', by, { endpoint, type }, {});
            tx.later(pauseWrite(t.pauses, pause));
          }
          return { pause: toCaller(pause, tx), changed };
        },
        { locks: 'pauses' },
      );
    },
    async resumeType({ endpoint, type }, by, since) {
      const author = actingBy(by);
      assertLane({ endpoint, type });
      const ended = await tables.change(
        async (tx): Promise<StoredPause | null> => {
          const values = [endpoint, type];
          const [row] = await tx.rows<PauseRow>({ text: `SELECT ${PAUSE_COLUMNS} FROM ${ofType}`, values });
          if (row === undefined) return null;
          if (since !== undefined && !isSameTime(row.since_ms, tx.toDatabase(since.getTime()))) return null;
          tx.later({ text: `DELETE FROM ${ofType}`, values });
          if (row.failures !== null) {
            const forget = `DELETE FROM ${t.breakers} WHERE endpoint = $1 AND type = $2`;
            tx.later({ text: forget, values: [endpoint, type] });
          }
          const by = author(tx);
          const pause = pauseOf(row);
          if (hasEnded(pause, by.now)) return null;
          await addLine(tx, 'resume', by, { endpoint, type }, { seconds: pausedSeconds(pause, by.now) });
          return toCaller(pause, tx);
        },
        { locks: 'pauses' },
      );
      if (ended !== null) tables.notify();
      return ended;
    },
    async pausedTypes(now = Date.now()) {
      const text = `
        WITH aside AS MATERIALIZED (${aside(COUNTED + 1)})
        SELECT ${PAUSE_COLUMNS}, (
          SELECT count(*) FROM aside WHERE aside.endpoint = pauses.endpoint AND aside.type = pauses.type
        ) + (
          SELECT count(*) FROM (
            SELECT 1 FROM ${ready} AND ready.endpoint = pauses.endpoint AND ready.type = pauses.type LIMIT ${COUNTED + 1}
          ) AS counted
        ) AS waiting, EXISTS (SELECT 1 FROM aside GROUP BY list HAVING count(*) > ${COUNTED}) AS unseen
        FROM ${t.pauses} AS pauses WHERE pauses.endpoint >= '' ORDER BY pauses.endpoint, pauses.type`;
      return tables.read(async (reader) => {
        const rows = await reader.rows<CountedRow>({ text });
        const pauses = rows.map((row) => ({
          ...toCaller(pauseOf(row), reader),
          waiting: Math.min(row.waiting, COUNTED),
          more: Boolean(row.unseen) || row.waiting > COUNTED,
        }));
        return lastingPauses(pauses, now);
      });
    },
  };
}
