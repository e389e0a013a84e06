import type { Announcements } from '../../queue-operations.ts';
import {
  type ReadyType,
  isAmong,
  wasSeenAfter,
  COUNTED,
  type PendingType,
  type WaitingEvent,
} from '../../rules/processors.ts';
import { isPaused, lastingPauses } from '../../rules/pauses.ts';
import type { Scope } from '../../work.ts';
import { type NamedStatements, distinctTypes, READY } from '../sql/named-statements.ts';
import type { TypeRow } from '../sql/rows.ts';
import { statement } from '../sql/statement.ts';
import { indexNew } from './clock.ts';
import { holdingTypesOf, pausesOf, readyEndpoints } from './entity-queue.ts';

/** Senders choose the types, so their number has no limit. */
const TYPES = 200;

const UNHANDLED = "state = 'ignored' AND body IS NOT NULL";

export function announcements(statements: NamedStatements): Announcements {
  const { counts, database, moves, queue } = statements;

  const lastSeenOf = (endpoint: string, type: string): number | null => queue.lastSeen.one({ endpoint, type }).at;

  return {
    noteScope({ endpoints, types, named = [] }, now) {
      for (const type of types === '*' ? ['*', ...named] : types) {
        for (const endpoint of endpoints === '*' ? ['*'] : endpoints) queue.noteHandled.run({ endpoint, type, now });
      }
    },
    noteProcessor({ name, endpoints, types, startedAt, seenAt }, seenBy) {
      const scope = { endpoints: JSON.stringify(endpoints), types: JSON.stringify(types) };
      queue.noteProcessor.run({ name, ...scope, startedAt, seenAt });
      queue.forgetProcessors.run(seenBy);
    },
    indexArrivals: (now) => indexNew(statements, now, Number.MAX_SAFE_INTEGER),
    forgetProcessor: (name) => void queue.forgetProcessor.run(name),
    processorsAfter: (since) =>
      queue.processorsAfter.all(since).map((row) => ({
        name: row.name,
        endpoints: JSON.parse(row.endpoints) as Scope['endpoints'], // as `noteProcessor` stored it
        types: JSON.parse(row.types) as Scope['types'],
        startedAt: row.started_ms,
        seenAt: row.seen_ms,
      })),
    handledTypes: () => queue.everHandledTypes.all(),
    isAnybodyThere: (since) => queue.anybodySeen.get({ since }) !== undefined,
    parkedAfter(seq, limit, handledSince) {
      const holding = new Map<string, () => Scope['types']>();
      return queue.parkedAfter.all({ after: seq, limit }).map((row) => {
        const types = holding.get(row.endpoint) ?? holdingTypesOf(statements, row.endpoint, handledSince);
        holding.set(row.endpoint, types);
        return { ...row, isHandled: isAmong(types(), row.type) };
      });
    },
    readyTypes(endpoints, begin, gone, limit) {
      const ready = readyEndpoints(statements, endpoints);
      const pauses = pausesOf(statements);
      const found: ReadyType[] = [];
      const first = begin.endpoint === null ? 0 : Math.max(0, ready.indexOf(begin.endpoint));
      for (const endpoint of ready.slice(first)) {
        if (wasSeenAfter(lastSeenOf(endpoint, '*'), gone)) continue;
        for (let from = endpoint === begin.endpoint ? begin.from : ''; ;) {
          if (found.length === limit) return found;
          const { type } = queue.nextReadyType.one({ endpoint, from });
          if (type === null) break;
          const lastSeen = lastSeenOf(endpoint, type);
          found.push({ endpoint, type, isPaused: isPaused(pauses, { endpoint, type }), lastSeen });
          from = `${type}\0`;
        }
      }
      return found;
    },
    waitingOf(types, dueBy, limit) {
      const events: WaitingEvent[] = [];
      for (const { endpoint, type } of types) {
        const rows = queue.waitingOfType.all({ endpoint, type, before: dueBy, limit: limit - events.length });
        events.push(...rows.map((row) => ({ ...row, type })));
        if (events.length === limit) return { events, endedAt: { endpoint, type } };
      }
      return { events, endedAt: null };
    },
    ignore(events, now) {
      for (const { seq, type } of events) {
        moves.toIgnored.run({ seq, now });
        counts.countType('ignored', type);
      }
    },
    pendingTypes(handledSince) {
      const pauses = lastingPauses(pausesOf(statements), handledSince);
      const totals = new Map<string, PendingType>();
      for (const { endpoint, type, count, due_ms } of statement<TypeRow & { due_ms: number }>(
        database,
        PENDING,
      ).all()) {
        const key = JSON.stringify([endpoint, type]);
        const other = totals.get(key);
        const lastSeen = lastSeenOf(endpoint, type);
        totals.set(key, {
          endpoint,
          type,
          dueAt: Math.min(due_ms, other?.dueAt ?? Infinity),
          count: count + (other?.count ?? 0),
          isPaused: isPaused(pauses, { endpoint, type }),
          lastSeen,
          wasEndpointHandled: lastSeen !== null || queue.everHandled.get({ endpoint }) !== undefined,
        });
      }
      return [...totals.values()];
    },
    ignoredTypes(scope, since) {
      const names = { endpoints: namesOf(scope.endpoints), types: namesOf(scope.types) };
      return statement<TypeRow>(database, ignoredOf(scope))
        .all({ since, ...names })
        .filter(({ count }) => count > 0)
        .map((row) => ({ ...row, lastSeen: lastSeenOf(row.endpoint, row.type) }));
    },
  };
}

/** Events that are in no index by type: counts the oldest. */
const aside = (parked: 1 | 2): string => `
  SELECT endpoint, type, min(due_ms) AS due_ms, count(*) AS count
  FROM (SELECT endpoint, type, due_ms FROM hookbox_events WHERE parked > 0 AND parked = ${parked} ORDER BY seq LIMIT ${COUNTED})
  GROUP BY endpoint, type`;

const OF_TYPE = 'hookbox_events AS e WHERE e.endpoint = lanes.endpoint AND e.type = lanes.type';

const countOf = (where: string): string =>
  `(SELECT count(*) FROM (SELECT 1 FROM ${OF_TYPE} AND ${where} LIMIT ${COUNTED + 1}))`;

const PENDING = `
  WITH RECURSIVE ${distinctTypes(READY, TYPES)}
  SELECT endpoint, type, (SELECT due_ms FROM ${OF_TYPE} AND ${READY} ORDER BY due_ms LIMIT 1) AS due_ms,
    ${countOf(READY)} AS count
  FROM lanes
  UNION ALL ${aside(1)}
  UNION ALL ${aside(2)}`;

const NAMED_TYPES = `
  lanes (endpoint, type) AS (
    SELECT endpoints.value, types.value FROM json_each(:endpoints) AS endpoints CROSS JOIN json_each(:types) AS types
  )`;

/** Looks named types up by name, because the number of others has no limit. */
function ignoredOf({ endpoints, types }: Scope): string {
  return `
    WITH RECURSIVE ${endpoints !== '*' && types !== '*' ? NAMED_TYPES : distinctTypes(UNHANDLED, TYPES)}
    SELECT endpoint, type, ${countOf(`${UNHANDLED} AND settled_ms >= :since`)} AS count
    FROM lanes
    WHERE (:endpoints IS NULL OR endpoint IN (SELECT value FROM json_each(:endpoints)))
      AND (:types IS NULL OR type IN (SELECT value FROM json_each(:types)))`;
}

function namesOf(names: readonly string[] | '*'): string | null {
  return names === '*' ? null : JSON.stringify(names);
}
