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
import { ratesAt } from '../engine/rates.ts';
import type { OperatorTables } from '../../operator/sql.ts';
import {
  bothInOrder,
  front,
  FRONT_COLUMNS,
  frontOf,
  holding,
  leased,
  type FrontColumns,
} from '../engine/entity-queue.ts';
import { claimState } from '../engine/postgres-store.ts';
import type { Reading } from '../engine/transaction.ts';
import { places, STATE } from '../sql/records.ts';
import { eventOfKey, given, lists } from '../sql/statements.ts';
import { keyOrNull, type Tables } from '../sql/tables.ts';
import { type Access, rowsIn } from './access.ts';

interface EventRow extends WaitingRow, FrontColumns {
  /** from 1 */
  readonly place: number;
  readonly seen_ms: number | null;
  readonly running: number | null;
  readonly running_ms: number | null;
}

export function waits({ store, ask }: Access, { dialect }: OperatorTables): Waits {
  const { toDatabase, toCaller } = store.time;
  return {
    waits: (keys, now) =>
      ask(() =>
        store.read(async (reading) => {
          const since = seenSince(toDatabase(now));
          const [state, rates, events] = await Promise.all([
            claimState(reading),
            ratesAt(
              reading,
              keys.map(({ endpoint }) => endpoint),
            ),
            eventsOf(reading, keys, since),
          ]);
          const plan = planWaits(events, { ...state, rates }, toDatabase(now));
          const [counts, blockers] = await Promise.all([
            plan.places.length === 0 ? [] : countsBehind(reading, plan.places, since),
            summariesOf({ toDatabase, toCaller, rows: rowsIn(reading.session) }, dialect, plan.blockers),
          ]);
          return plan.waits(counts, blockers, (ms) => new Date(toCaller(ms)));
        }),
      ),
  };
}

/** The type and the entity may be hashes. */
function selectEvents(t: Tables): string {
  return `
    WITH given AS MATERIALIZED (
      SELECT given.place, events.seq, events.endpoint, coalesce(queue.type, shelf.type) AS type, queue.entity,
        events.created_ms, events.created_ns, ${STATE}, coalesce(queue.crashes, shelf.crashes, 0) AS crashes,
        coalesce(queue.due_ms, 0) AS due_ms, queue.claimed_ms, coalesce(queue.yields, false) AS yields
      FROM ${eventOfKey(t, 'id, endpoint, place')} ${places(t)}
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
  { session, t }: Reading,
  keys: readonly EventKey[],
  since: number,
): Promise<readonly (WaitingEvent | undefined)[]> {
  const rows = await session.rows<EventRow>(selectEvents(t), [...lists('id, endpoint', keys), since]);
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

const BEHIND = 'entity_key, endpoint, created_ms, created_ns, seq, place';

async function countsBehind(
  { session, t }: Reading,
  behind: readonly PlaceInQueue[],
  since: number,
): Promise<readonly CountBehind[]> {
  const waiting = `
    lease_until_ms IS NULL AND entity IS NOT NULL AND entity = given.entity_key AND endpoint = given.endpoint
    AND (created_ms, created_ns, seq) > (given.created_ms, given.created_ns, given.seq)`;
  const rows = await session.rows<CountBehind & { readonly place: number }>(
    `SELECT given.place, counted.* FROM ${given(BEHIND)}
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
      ...lists(
        BEHIND,
        behind.map(({ endpoint, entity, after }) => ({
          endpoint,
          entity_key: keyOrNull(entity),
          created_ms: after?.created.ms ?? Number.MIN_SAFE_INTEGER,
          created_ns: after?.created.ns ?? 0,
          seq: after?.seq ?? 0,
        })),
      ),
      since,
    ],
  );
  return rows.toSorted((one, other) => one.place - other.place);
}
