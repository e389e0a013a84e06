import { fromJson } from './driver/values.ts';
import type { Session } from './driver/session.ts';
import { shelveLost } from './moves.ts';
import { LOST, places } from './sql/records.ts';
import type { Tables } from './sql/tables.ts';

/** How many are named. */
const NAMED = 3;

/** How far a look for lost events has come. */
export interface LostFound {
  readonly count: number;
  /** the ids of the first ones */
  readonly ids: readonly string[];
  /** the number of the last event that was looked at */
  readonly behind: number;
  readonly isOver: boolean;
}

export const NONE_LOST: LostFound = { count: 0, ids: [], behind: 0, isOver: false };

/** Looks at some events more, in the order of their numbers. */
export async function lookForLost(session: Session, t: Tables, found: LostFound, limit: number): Promise<LostFound> {
  // Of one statement, as processors move events meanwhile.
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

/** The message about lost events, with the line of SQL that repairs them; `null` if no event is lost. */
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
