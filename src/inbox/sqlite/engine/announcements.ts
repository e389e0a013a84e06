import type { SyncStore } from '../../queue-operations.ts';
import {
  type ParkedEvent,
  type ReadyType,
  type WaitingEvent,
  isAmong,
  wasSeenAfter,
  type HandledType,
  COUNTED,
  type PendingType,
} from '../../rules/processors.ts';
import type { Scope } from '../../work.ts';
import { isPaused } from '../../rules/pauses.ts';
import { distinctLanes, EVER_HANDLED, READY } from '../sql/queue-statements.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { statement } from '../sql/statement.ts';
import { holdingTypesOf, lastSeenOf, pausesOf, readyEndpoints } from './entity-queue.ts';

interface ProcessorRow {
  readonly name: string;
  readonly endpoints: string;
  readonly types: string;
  readonly started_ms: number;
  readonly seen_ms: number;
}

/** Types are the sender's text, so there may be any number of them. */
const TYPES = 200;

interface TotalRow {
  readonly endpoint: string;
  readonly type: string;
  readonly count: number;
}

const UNHANDLED = "state = 'ignored' AND body IS NOT NULL";

const NAMED_LANES = `
  lanes (endpoint, type) AS (
    SELECT endpoints.value, types.value FROM json_each(:endpoints) AS endpoints CROSS JOIN json_each(:types) AS types
  )`;

/** What is not entered by type is looked at as far as it is the oldest. */
const aside = (parked: 1 | 2): string => `
  SELECT endpoint, type, min(due_ms) AS due_ms, count(*) AS count
  FROM (SELECT endpoint, type, due_ms FROM hookbox_events WHERE parked > 0 AND parked = ${parked} ORDER BY seq LIMIT ${COUNTED})
  GROUP BY endpoint, type`;

const PENDING = `
  WITH RECURSIVE ${distinctLanes(READY, TYPES)}
  SELECT endpoint, type,
    (SELECT due_ms FROM hookbox_events AS e
      WHERE ${READY} AND e.endpoint = lanes.endpoint AND e.type = lanes.type ORDER BY due_ms LIMIT 1) AS due_ms,
    (SELECT count(*) FROM (SELECT 1 FROM hookbox_events AS e
      WHERE ${READY} AND e.endpoint = lanes.endpoint AND e.type = lanes.type LIMIT ${COUNTED + 1})) AS count
  FROM lanes
  UNION ALL ${aside(1)}
  UNION ALL ${aside(2)}`;

type Part = Pick<
  SyncStore,
  | 'noteScope'
  | 'noteProcessor'
  | 'forgetProcessors'
  | 'forgetProcessor'
  | 'processorsAfter'
  | 'handledTypes'
  | 'isAnybodyThere'
  | 'parkedAfter'
  | 'readyTypes'
  | 'waitingOf'
  | 'ignore'
  | 'pendingTypes'
  | 'ignoredTypes'
>;

/** Announcements of processors, and what waits by type, on the tables of a file. */
export function announcements(statements: NamedStatements): Part {
  const { database, moves, queue } = statements;
  return {
    noteScope({ endpoints, types, named = [] }, now) {
      for (const type of types === '*' ? ['*', ...named] : types) {
        for (const endpoint of endpoints === '*' ? ['*'] : endpoints) queue.take.run({ endpoint, type, now });
      }
    },
    noteProcessor({ name, endpoints, types, startedAt, seenAt }) {
      statement(
        database,
        `INSERT INTO hookbox_processors (name, endpoints, types, started_ms, seen_ms)
         VALUES (:name, :endpoints, :types, :startedAt, :seenAt)
         ON CONFLICT (name) DO UPDATE SET started_ms = excluded.started_ms, seen_ms = excluded.seen_ms`,
      ).run({ name, endpoints: JSON.stringify(endpoints), types: JSON.stringify(types), startedAt, seenAt });
    },
    forgetProcessors(seenBy) {
      statement(database, 'DELETE FROM hookbox_processors WHERE seen_ms <= ?').run(seenBy);
    },
    forgetProcessor(name) {
      statement(database, 'DELETE FROM hookbox_processors WHERE name = ?').run(name);
    },
    processorsAfter(since) {
      const sql = 'SELECT * FROM hookbox_processors WHERE seen_ms > ? ORDER BY started_ms, name';
      const rows = statement(database, sql).all(since) as ProcessorRow[]; // the columns of the table
      return rows.map((row) => ({
        name: row.name,
        endpoints: JSON.parse(row.endpoints) as Scope['endpoints'], // as it was written
        types: JSON.parse(row.types) as Scope['types'],
        startedAt: row.started_ms,
        seenAt: row.seen_ms,
      }));
    },
    handledTypes: () => statement(database, EVER_HANDLED).all() as HandledType[],
    isAnybodyThere: (since) => queue.anybodySeen.get({ since }) !== undefined,
    parkedAfter(seq, limit, handledSince) {
      const rows = queue.parkedAfter.all({ after: seq, limit }) as (ParkedEvent & { readonly type: string })[];
      const holding = new Map<string, () => Scope['types']>();
      return rows.map((row) => {
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
        if (wasSeenAfter(lastSeenOf(statements, endpoint, '*'), gone)) continue;
        for (let from = endpoint === begin.endpoint ? begin.from : ''; ;) {
          if (found.length === limit) return found;
          const { type } = queue.nextReadyType.get({ endpoint, from }) as { readonly type: string | null };
          if (type === null) break;
          const lastSeen = lastSeenOf(statements, endpoint, type);
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
        for (const row of rows) events.push({ ...(row as WaitingEvent), type });
        if (events.length === limit) return { events, endedAt: { endpoint, type } };
      }
      return { events, endedAt: null };
    },
    ignore(seqs, now) {
      for (const seq of seqs) moves.toIgnored.run({ seq, now });
    },
    pendingTypes() {
      const pauses = pausesOf(statements);
      const totals = new Map<string, PendingType>();
      for (const found of statement(database, PENDING).all()) {
        const { endpoint, type, count, due_ms } = found as TotalRow & { due_ms: number }; // the columns of the statement
        const key = JSON.stringify([endpoint, type]);
        const other = totals.get(key);
        const dueAt = Math.min(due_ms, other?.dueAt ?? Infinity);
        const lastSeen = lastSeenOf(statements, endpoint, type);
        totals.set(key, {
          endpoint,
          type,
          dueAt,
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
      const rows = statement(database, ignoredOf(scope)).all({ since, ...names }) as TotalRow[];
      return rows
        .filter(({ count }) => count > 0)
        .map((row) => ({ ...row, lastSeen: lastSeenOf(statements, row.endpoint, row.type) }));
    },
  };
}

function ignoredOf({ endpoints, types }: Scope): string {
  // Named ones are looked for by their names: of others there may be any number.
  const isNamed = endpoints !== '*' && types !== '*';
  return `
    WITH RECURSIVE ${isNamed ? NAMED_LANES : distinctLanes(UNHANDLED, TYPES)}
    SELECT endpoint, type, (
      SELECT count(*) FROM (
        SELECT 1 FROM hookbox_events AS e
        WHERE ${UNHANDLED} AND e.endpoint = lanes.endpoint AND e.type = lanes.type AND settled_ms >= :since
        LIMIT ${COUNTED + 1}
      )
    ) AS count
    FROM lanes
    WHERE (:endpoints IS NULL OR endpoint IN (SELECT value FROM json_each(:endpoints)))
      AND (:types IS NULL OR type IN (SELECT value FROM json_each(:types)))`;
}

function namesOf(names: readonly string[] | '*'): string | null {
  return names === '*' ? null : JSON.stringify(names);
}
