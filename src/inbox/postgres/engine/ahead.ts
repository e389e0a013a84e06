import type { IncomingEvent } from '../../event.ts';
import type { Ahead } from '../../rules/accept.ts';
import { keyOrNull } from '../sql/keys.ts';
import { slotOf } from '../sql/slots.ts';
import { leased } from './entity-queue.ts';
import type { Scene } from './scene.ts';

interface AheadRow {
  readonly paused: boolean;
  readonly busy: boolean;
  readonly superseded: boolean;
  readonly latest_ms: number;
}

/**
 * For each new event, what may have to run before it, apart from the other new ones. It locks the free slots of the events
 * until the transaction ends. It returns `undefined` for an event whose slot another transaction holds. That transaction may
 * change the answer.
 */
export async function readAhead(
  { session, t, locks }: Pick<Scene, 'session' | 't' | 'locks'>,
  events: readonly IncomingEvent[],
): Promise<readonly (Ahead | undefined)[]> {
  const slots = events.map(({ endpoint, entity, id }) => slotOf(endpoint, entity, id));
  const same = (column: string): string => `${column} = given.entity AND endpoint = given.endpoint`;
  const column = (value: (event: IncomingEvent) => unknown): unknown[] => events.map(value);
  // The answer is of a moment after that in which the locks were taken: a statement does not see what was committed after its begin.
  const [held, rows] = await Promise.all([
    locks.takeFree(slots),
    session.rows<AheadRow>(
      `SELECT (SELECT latest_ms FROM ${t.clock}) AS latest_ms,
         EXISTS (SELECT 1 FROM ${t.pauses} WHERE endpoint = given.endpoint AND type = given.type) AS paused,
         EXISTS (${leased('1', same, t)}) OR EXISTS (
           SELECT 1 FROM ${t.queue} WHERE lease_until_ms IS NULL AND entity IS NOT NULL AND ${same('entity')}
         ) AS busy,
         EXISTS (SELECT 1 FROM ${t.entities}
           WHERE ${same('entity')} AND (created_ms, created_ns) > (given.ms, given.ns)) AS superseded
       FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::integer[])
         WITH ORDINALITY AS given (endpoint, type, entity, ms, ns, place) ORDER BY place`,
      [
        column(({ endpoint }) => endpoint),
        column(({ type }) => type),
        column(({ entity }) => keyOrNull(entity)),
        column(({ created }) => created?.ms ?? null),
        column(({ created }) => created?.ns ?? null),
      ],
    ),
  ]);
  return rows.map((row, at) => {
    const slot = slots[at];
    if (slot === undefined || !held.has(slot)) return undefined;
    const { paused: isPaused, busy: isEntityBusy, superseded: isSuperseded, latest_ms: latest } = row;
    // What arrives is in the indexes for work at once.
    return { isCrowded: false, isPaused, isEntityBusy, isSuperseded, latest, isMovingBack: false };
  });
}
