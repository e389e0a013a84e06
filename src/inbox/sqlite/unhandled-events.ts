import { TAKER_MS, type IgnoredType, type Scope, type UnhandledType } from '../work.ts';
import type { SqliteDatabase } from './database.ts';
import { statement } from './prepared-statement.ts';
import { lastSeen } from './takers.ts';
import type { Statements } from './statements.ts';

/** Counting stops here. */
const COUNTED = 1_000;
/** Types are the sender's text, so there may be any number of them. */
const TYPES = 200;

interface WaitingRow {
  readonly endpoint: string;
  readonly type: string;
  readonly due_ms: number;
  readonly count: number;
}

/**
 * The types with something in a partial index of (endpoint, type, …), by two steps through it for each: the next type of
 * the endpoint, else the next endpoint. As one comparison of both columns SQLite would walk through all of an endpoint's.
 */
const lanes = (where: string): string => `
  lanes (endpoint, type) AS (
    SELECT * FROM (SELECT endpoint, type FROM hookbox_events WHERE ${where} ORDER BY endpoint, type LIMIT 1)
    UNION ALL
    SELECT next.endpoint, next.type FROM lanes CROSS JOIN hookbox_events AS next
    WHERE next.seq = coalesce(
      (SELECT seq FROM hookbox_events
        WHERE ${where} AND endpoint = lanes.endpoint AND type > lanes.type ORDER BY type LIMIT 1),
      (SELECT seq FROM hookbox_events WHERE ${where} AND endpoint > lanes.endpoint ORDER BY endpoint, type LIMIT 1)
    )
    LIMIT ${TYPES}
  )`;

const READY = "state = 'pending' AND parked = 0";
const UNHANDLED = "state = 'ignored' AND discarded_ms IS NULL AND body IS NOT NULL";

const NAMED_LANES = `
  lanes (endpoint, type) AS (
    SELECT endpoints.value, types.value FROM json_each(:endpoints) AS endpoints CROSS JOIN json_each(:types) AS types
  )`;

/** What is not entered by type is looked at as far as it is the oldest. */
const aside = (parked: 1 | 2): string => `
  SELECT endpoint, type, min(due_ms) AS due_ms, count(*) AS count
  FROM (SELECT endpoint, type, due_ms FROM hookbox_events WHERE parked > 0 AND parked = ${parked} ORDER BY seq LIMIT ${COUNTED})
  GROUP BY endpoint, type`;

const WAITING = `
  WITH RECURSIVE ${lanes(READY)}
  SELECT endpoint, type,
    (SELECT due_ms FROM hookbox_events AS e
      WHERE ${READY} AND e.endpoint = lanes.endpoint AND e.type = lanes.type ORDER BY due_ms LIMIT 1) AS due_ms,
    (SELECT count(*) FROM (SELECT 1 FROM hookbox_events AS e
      WHERE ${READY} AND e.endpoint = lanes.endpoint AND e.type = lanes.type LIMIT ${COUNTED + 1})) AS count
  FROM lanes
  UNION ALL ${aside(1)}
  UNION ALL ${aside(2)}`;

/** What has waited for ten minutes, of types that nobody was seen to handle for as long. */
export function unhandled(statements: Statements, now: number, since = now - TAKER_MS): UnhandledType[] {
  const { database } = statements;
  const waiting = new Map<string, WaitingRow>();
  for (const found of statement(database, WAITING).all()) {
    const row = found as WaitingRow; // the columns of the statement
    const key = JSON.stringify([row.endpoint, row.type]);
    const other = waiting.get(key);
    const due_ms = Math.min(row.due_ms, other?.due_ms ?? Infinity);
    waiting.set(key, { ...row, due_ms, count: row.count + (other?.count ?? 0) });
  }
  return [...waiting.values()].flatMap(({ endpoint, type, due_ms, count }) => {
    if (due_ms > since) return [];
    const seen = lastSeen(statements, endpoint, type);
    if (seen === null ? !isForgotten(database, endpoint, since) : seen > since) return [];
    const counted = { count: Math.min(count, COUNTED), more: count > COUNTED };
    return [{ endpoint, type, ...counted, since: seen === null ? null : new Date(seen) }];
  });
}

/** Processors run on this inbox, but none of them has ever handled this endpoint: somebody may not know that one must. */
function isForgotten(database: SqliteDatabase, endpoint: string, since: number): boolean {
  const sql = `
    SELECT EXISTS (SELECT 1 FROM hookbox_handling WHERE seen_ms > :since)
      AND NOT EXISTS (SELECT 1 FROM hookbox_handling WHERE endpoint IN (:endpoint, '*')) AS forgotten`;
  return (statement(database, sql).get({ endpoint, since }) as { forgotten: 0 | 1 }).forgotten === 1;
}

/** What was put away for want of a handler, as far as it is in a scope. */
export function ignoredSince(statements: Statements, scope: Scope, since: number, now: number): IgnoredType[] {
  const { database } = statements;
  // Named ones are looked for by their names: of others there may be any number.
  const isNamed = scope.endpoints !== '*' && scope.types !== '*';
  const sql = `
    WITH RECURSIVE ${isNamed ? NAMED_LANES : lanes(UNHANDLED)}
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
  const rows = statement(database, sql).all({ since, endpoints: named(scope.endpoints), types: named(scope.types) });
  return rows.flatMap((found) => {
    const { endpoint, type, count } = found as Omit<WaitingRow, 'due_ms'>; // the columns of the statement
    if (count === 0) return [];
    const handled = (lastSeen(statements, endpoint, type) ?? -Infinity) > now - TAKER_MS;
    return [{ endpoint, type, count: Math.min(count, COUNTED), more: count > COUNTED, handled }];
  });
}

function named(names: readonly string[] | '*'): string | null {
  return names === '*' ? null : JSON.stringify(names);
}
