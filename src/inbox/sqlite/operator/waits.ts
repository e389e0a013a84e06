import type { EventKey } from '../../event.ts';
import { summariesBySeq, summaryOf, type SummaryRow } from '../../operator/summaries.ts';
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
import { isAmong, seenSince } from '../../rules/processors.ts';
import { rateOf } from '../../rules/rates.ts';
import type { Queue } from '../../rules/store.ts';
import { frontOf, holdingTypesOf, pausesOf, handledTypesOf } from '../engine/entity-queue.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { prepareNamedStatements, type NamedStatements, WAITING } from '../sql/named-statements.ts';
import { keyIs, statement } from '../sql/statement.ts';
import { type Access, clockAfter, rowsOf, sqlite, readTogether } from './access.ts';

const EVENT = `
  SELECT seq, endpoint, type, entity, created_ms, created_ns, state, crashes, due_ms, claimed_ms, yields
  FROM hookbox_events WHERE ${keyIs()}`;

const RUNNING = `
  SELECT seq, claimed_ms AS claimedAt FROM hookbox_events
  WHERE lease_until_ms IS NOT NULL AND entity = :entity AND endpoint = :endpoint LIMIT 1`;

const TYPES_BEHIND = [0, 1]
  .map(
    (yields) => `
  SELECT type FROM (
    SELECT type FROM ${WAITING} AND yields = ${yields} AND (created_ms, created_ns, seq) > (:created_ms, :created_ns, :seq)
    ORDER BY created_ms, created_ns, seq LIMIT ${COUNTED_BEHIND}
  )`,
  )
  .join(' UNION ALL ');

/** Sorts before every event. */
const FIRST = { created: { ms: Number.MIN_SAFE_INTEGER, ns: 0 }, seq: 0 };

export function waits(access: Access): Waits {
  return {
    async waits(keys, now) {
      const database = access.database();
      const statements = prepareNamedStatements(database);
      return readTogether(database, () => {
        const isSuspectRunning = statements.queue.runningSuspect.get() !== undefined;
        const events = eventsOf(statements, keys, seenSince(now));
        const endpoints = JSON.stringify(keys.map(({ endpoint }) => endpoint));
        const rates = statements.queue.rates.all({ endpoints }).map(rateOf);
        const plan = planWaits(events, { pauses: pausesOf(statements), rates, isSuspectRunning }, now);
        const taken = remembered((endpoint: string) => handledTypesOf(statements, endpoint, seenSince(now)));
        const counts = plan.places.map((place) => countBehind(database, place, taken(place.endpoint)));
        const blockers = rowsOf<SummaryRow>(database, summariesBySeq(sqlite, plan.blockers));
        return plan.waits(
          counts,
          blockers.map((row) => summaryOf(row, clockAfter(0))),
        );
      });
    },
  };
}

function eventsOf(
  statements: NamedStatements,
  keys: readonly EventKey[],
  since: number,
): readonly (WaitingEvent | undefined)[] {
  const { database, queue } = statements;
  const holding = remembered((endpoint: string) => holdingTypesOf(statements, endpoint, since));
  const lastSeen = remembered((lane: Pick<WaitingRow, 'endpoint' | 'type'>) => queue.lastSeen.one(lane).at);
  const ofQueue = remembered(({ entity, endpoint }: Queue): Pick<WaitingEvent, 'running' | 'front'> => ({
    running: statement<NonNullable<WaitingEvent['running']>>(database, RUNNING).get({ entity, endpoint }),
    front: frontOf(statements, { entity, endpoint }, holding(endpoint)),
  }));
  return keys.map(({ id, endpoint }) => {
    const row = statement<WaitingRow>(database, EVENT).get({ id, endpoint });
    if (row === undefined) return undefined;
    const { type, entity } = row;
    return waitingEvent(row, {
      lastSeen: type === null ? null : lastSeen({ endpoint, type }),
      ...(row.state === 'pending' && entity !== null
        ? ofQueue({ endpoint, entity })
        : { running: undefined, front: undefined }),
    });
  });
}

function countBehind(
  database: SqliteDatabase,
  { entity, endpoint, after }: PlaceInQueue,
  taken: ReturnType<typeof handledTypesOf>,
): CountBehind {
  const { created, seq } = after ?? FIRST;
  const from = { entity, endpoint, created_ms: created.ms, created_ns: created.ns, seq };
  const first = statement<{ type: string }>(database, TYPES_BEHIND).all(from).slice(0, COUNTED_BEHIND);
  return { all: first.length, handled: first.filter(({ type }) => isAmong(taken, type)).length };
}

/** Many events share a type and an entity. */
function remembered<Question, Found>(find: (requested: Question) => Found): (requested: Question) => Found {
  const known = new Map<string, Found>();
  return (given) => {
    const key = JSON.stringify(given);
    if (!known.has(key)) known.set(key, find(given));
    return known.get(key) as Found; // set just now
  };
}
