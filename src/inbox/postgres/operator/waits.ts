import type { EventKey } from '../../event.ts';
import { summariesOf } from '../../operator/summaries.ts';
import {
  type Waits,
  COUNTED_BEHIND,
  planWaits,
  waitingEvent,
  type CountBehind,
  type PlaceInQueue,
  type WaitingEvent,
  type WaitingRow,
} from '../../rules/waiting.ts';
import { seenSince } from '../../rules/processors.ts';
import type { OperatorTables } from '../../operator/sql.ts';
import type { Session } from '../driver/session.ts';
import {
  bothInOrder,
  front,
  FRONT_COLUMNS,
  frontOf,
  holding,
  leased,
  type NextColumns,
} from '../engine/entity-queue.ts';
import { claimState } from '../engine/postgres-store.ts';
import { places, STATE } from '../sql/records.ts';
import { keyOrNull, rowOf, type Tables } from '../sql/tables.ts';
import { type Access, rowsIn } from './operator-tables.ts';

interface EventRow extends WaitingRow, Omit<NextColumns, 'passed' | 'yielding'> {
  /** the number of its key, from 1 */
  readonly place: number;
  readonly seen_ms: number | null;
  readonly running: number | null;
  readonly running_ms: number | null;
}

export function waits({ store, ask }: Access, { dialect }: OperatorTables): Waits {
  const { database, t, time } = store;
  const { toDatabase, toCaller } = time;
  return {
    waits: (keys, now) =>
      ask(() =>
        database.read(async (session) => {
          await time.follow(session);
          const since = seenSince(time.toDatabase(now));
          const [state, events] = await Promise.all([claimState({ session, t }), eventsOf(session, t, keys, since)]);
          const plan = planWaits(events, state, time.toDatabase(now));
          const [counts, blockers] = await Promise.all([
            plan.places.length === 0 ? [] : countsBehind(session, t, plan.places, since),
            summariesOf({ toDatabase, toCaller, rows: rowsIn(session) }, dialect, plan.blockers),
          ]);
          return plan.waits(counts, blockers, (ms) => new Date(time.toCaller(ms)));
        }),
      ),
  };
}

/** The type and the entity are those of the queue or the shelf, which may be hashes. */
function selectEvents(t: Tables): string {
  return `
    WITH given AS MATERIALIZED (
      SELECT asked.place, events.seq, events.endpoint, coalesce(queue.type, shelf.type) AS type, queue.entity,
        events.created_ms, events.created_ns, ${STATE}, coalesce(queue.crashes, shelf.crashes, 0) AS crashes,
        coalesce(queue.due_ms, 0) AS due_ms, queue.claimed_ms, coalesce(queue.yields, false) AS yields
      FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (endpoint, id, place)
        CROSS JOIN ${rowOf(t.events, 'events', 'found.id = asked.id AND found.endpoint = asked.endpoint')} ${places(t)}
    ), ${holding(t, 'given', '$3')}
    SELECT given.*, ${FRONT_COLUMNS}, running.seq AS running, running.claimed_ms AS running_ms, (
        SELECT max(seen_ms) FROM ${t.handling}
        WHERE given.type IS NOT NULL AND endpoint IN (given.endpoint, '*') AND type IN (given.type, '*')
      ) AS seen_ms
    FROM given JOIN holding ON holding.endpoint = given.endpoint ${front(t, 'given')}
      LEFT JOIN LATERAL (
        ${leased('seq, claimed_ms', (entity) => `${entity} = given.entity AND endpoint = given.endpoint`, t)} LIMIT 1
      ) AS running ON true`;
}

async function eventsOf(
  session: Session,
  t: Tables,
  keys: readonly EventKey[],
  since: number,
): Promise<readonly (WaitingEvent | undefined)[]> {
  const rows = await session.rows<EventRow>(selectEvents(t), [
    keys.map(({ endpoint }) => endpoint),
    keys.map(({ id }) => id),
    since,
  ]);
  const byPlace = new Map(rows.map((row) => [row.place, row]));
  return keys.map((_, at) => {
    const row = byPlace.get(at + 1);
    return row === undefined ? undefined : eventOf(row);
  });
}

function eventOf(row: EventRow): WaitingEvent {
  const { running, running_ms: runningMs } = row;
  return waitingEvent(row, {
    lastSeen: row.seen_ms,
    running: running === null || runningMs === null ? undefined : { seq: running, claimedAt: runningMs },
    front: frontOf(row),
  });
}

async function countsBehind(
  session: Session,
  t: Tables,
  after: readonly PlaceInQueue[],
  since: number,
): Promise<readonly CountBehind[]> {
  const waiting = `
    lease_until_ms IS NULL AND entity IS NOT NULL AND entity = given.entity AND endpoint = given.endpoint
    AND (created_ms, created_ns, seq) > (given.ms, given.ns, given.seq)`;
  const rows = await session.rows<CountBehind & { readonly place: number }>(
    `SELECT given.place, counted.* FROM unnest($1::text[], $2::text[], $3::bigint[], $4::integer[], $5::bigint[])
       WITH ORDINALITY AS given (entity, endpoint, ms, ns, seq, place)
     CROSS JOIN LATERAL (
       SELECT coalesce(sum(of_type.count), 0)::bigint AS all, coalesce(sum(of_type.count) FILTER (WHERE EXISTS (
         SELECT 1 FROM ${t.handling} AS known
         WHERE known.endpoint IN (given.endpoint, '*') AND known.type IN (of_type.type, '*') AND known.seen_ms > $6
       )), 0)::bigint AS handled
       FROM (
         SELECT type, count(*) AS count FROM (
           SELECT type FROM (${bothInOrder('type', waiting, t, COUNTED_BEHIND)}) AS both_kinds
           LIMIT ${COUNTED_BEHIND}
         ) AS first GROUP BY type
       ) AS of_type
     ) AS counted`,
    [
      after.map(({ entity }) => keyOrNull(entity)),
      after.map(({ endpoint }) => endpoint),
      after.map((place) => place.after?.created.ms ?? Number.MIN_SAFE_INTEGER),
      after.map((place) => place.after?.created.ns ?? 0),
      after.map((place) => place.after?.seq ?? 0),
      since,
    ],
  );
  return rows.toSorted((one, other) => one.place - other.place);
}
