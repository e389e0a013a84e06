import { delay, performance } from '../../host/real-timers.ts';
import type { Inbox } from '../contract.ts';
import { fromJson, type Session } from './driver/session.ts';
import { shelveLost } from './moves.ts';
import { missingRows, sequenceFaults, tableFaults } from './opening/server-faults.ts';
import { LOST, places } from './sql/records.ts';
import type { Tables } from './sql/tables.ts';
import type { Store } from './store.ts';

type Upkeep = Parameters<NonNullable<Inbox['upkeep']>>[0];

const BATCH = 1_000;
/** A call examines events for this long, unless its caller waits for the end. */
const LOOK_MS = 2_000;
/** Rests for this many times the duration of a batch. */
const REST = 3;

/** The row of `progress` with the day of the last check, by the database's clock. */
const DAY = 'looked for lost events on day';
const TODAY = '(extract(epoch FROM clock_timestamp()) / 86400)::bigint';

/** Once a day, one of all processes checks the tables and looks for lost events. */
export function dailyLook(store: Store, schema: string): (how: Upkeep) => Promise<void> {
  const { database, t } = store;
  let at: LostFound | null = null;

  async function isDue(): Promise<boolean> {
    const text = `SELECT 1 FROM ${t.progress} WHERE what = $1 AND seq = ${TODAY}`;
    const isDone = await database.read(async (session) => (await session.row(text, [DAY])) !== undefined);
    if (isDone) return false;
    const changed = await database.transaction({
      work: (session) =>
        session.run(
          `INSERT INTO ${t.progress} AS known (what, seq) VALUES ($1, ${TODAY})
           ON CONFLICT (what) DO UPDATE SET seq = excluded.seq WHERE known.seq <> excluded.seq`,
          [DAY],
        ),
    });
    return changed === 1;
  }

  async function lookAtTables(report: NonNullable<Upkeep['report']>): Promise<void> {
    const faults = await database.read(async (session) => [
      ...(await tableFaults(session, schema)),
      ...(await missingRows(session, { schema, tables: t })),
      ...((await sequenceFaults(session, t)) ?? []),
    ]);
    for (const fault of faults) report(fault);
  }

  async function look({ isOpen, report, upTo }: Upkeep): Promise<void> {
    if (report === undefined || !isOpen()) return;
    if (at === null) {
      if (!(await isDue())) return;
      await lookAtTables(report);
      at = NONE_LOST;
    }
    const until = upTo === undefined ? performance.now() + LOOK_MS : Infinity;
    while (!at.isOver && isOpen() && performance.now() < until) {
      const startedAt = performance.now();
      const found: LostFound = at;
      at = await database.read((session) => lookForLost(session, t, found, BATCH));
      await delay(REST * (performance.now() - startedAt), undefined, { ref: upTo !== undefined });
    }
    if (!at.isOver) return;
    const words = wordsOfLost(t, at);
    if (words !== null) report(words);
    at = null;
  }

  let underWay: Promise<void> | null = null;
  return (how) =>
    (underWay ??= look(how).finally(() => {
      underWay = null;
    }));
}

const NAMED = 3;

export interface LostFound {
  readonly count: number;
  readonly ids: readonly string[];
  readonly behind: number;
  readonly isOver: boolean;
}

export const NONE_LOST: LostFound = { count: 0, ids: [], behind: 0, isOver: false };

export async function lookForLost(session: Session, t: Tables, found: LostFound, limit: number): Promise<LostFound> {
  // In one statement, because processors move events.
  const row = await session.row<{ last: number | null; lost: number; ids: string | null }>(
    `SELECT max(seq) AS last, count(*) FILTER (WHERE lost) AS lost, json_agg(id) FILTER (WHERE lost)::text AS ids
     FROM (
       SELECT events.seq, events.id, ${LOST} AS lost
       FROM (SELECT * FROM ${t.events} WHERE seq > $1 ORDER BY seq LIMIT $2) AS events ${places(t)}
     ) AS looked`,
    [found.behind, limit],
  );
  const ids = fromJson(row?.ids ?? '[]') as string[];
  return {
    count: found.count + (row?.lost ?? 0),
    ids: [...found.ids, ...ids].slice(0, NAMED),
    behind: row?.last ?? found.behind,
    isOver: (row?.last ?? null) === null,
  };
}

/** With the SQL that repairs lost events; `null` if no event is lost. */
export function wordsOfLost(t: Tables, { count, ids }: LostFound): { what: string; advice: string } | null {
  if (count === 0) return null;
  const [named, more] = [ids.join(', '), count > ids.length ? ' and others' : ''];
  const line = shelveLost(t, 'true').replaceAll(/\s+/g, ' ');
  return {
    what:
      `The outcome is unknown for ${count === 1 ? 'an event' : `${count} events`} that ${count === 1 ? 'was' : 'were'} acknowledged (${named}${more}): another program deleted rows from ` +
      `the tables of hookbox, and no handler will run for ${count === 1 ? 'it' : 'them'}.`,
    advice:
      `To make ${count === 1 ? 'it' : 'them'} dead, run: ${line}; ` +
      'Then run hookbox events rerun --dead-reason crashed',
  };
}
