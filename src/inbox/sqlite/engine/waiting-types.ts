import type { EntityQueue, Takers, WaitingTypes } from '../../rules/engine.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { SizedEvent, QueuedEvent } from '../../rules/store.ts';
import { COUNTED } from '../../rules/unhandled-report.ts';
import type { Scope } from '../../work.ts';
import { distinctLanes } from '../sql/distinct-values.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { statement } from '../sql/prepared-statement.ts';
import { READY } from '../sql/queue-statements.ts';
import { indexNew } from './index-new.ts';
import { readyEndpoints } from './takers.ts';

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

type Part = Omit<WaitingTypes, 'counts' | 'timeSlice' | 'noteTime' | keyof EntityQueue | keyof Takers>;

/** What waits, by type. */
export function waitingTypes(statements: NamedStatements): Part {
  const { database, moves, queue } = statements;
  return {
    indexNew(now) {
      indexNew(statements, now, Number.MAX_SAFE_INTEGER);
      return DONE;
    },
    parkedAfter(seq, limit) {
      return answer(queue.parkedAfter.all({ after: seq, limit }) as (QueuedEvent & SizedEvent & { type: string })[]);
    },
    readyEndpoints: (endpoints) => answer(readyEndpoints(statements, endpoints)),
    nextReadyType(endpoint, from) {
      return answer((queue.nextReadyType.get({ endpoint, from }) as { type: string | null }).type);
    },
    waitingOfType({ endpoint, type }, dueBy, limit) {
      const rows = queue.waitingOfType.all({ endpoint, type, before: dueBy, limit });
      return answer(rows as (QueuedEvent & { bytes: number })[]);
    },
    ignore(seq, now) {
      moves.toIgnored.run({ seq, now });
      return DONE;
    },
    pendingTypes() {
      const totals = new Map<string, TotalRow & { readonly dueAt: number }>();
      for (const found of statement(database, PENDING).all()) {
        const { endpoint, type, count, due_ms } = found as TotalRow & { due_ms: number }; // the columns of the statement
        const key = JSON.stringify([endpoint, type]);
        const other = totals.get(key);
        const dueAt = Math.min(due_ms, other?.dueAt ?? Infinity);
        totals.set(key, { endpoint, type, dueAt, count: count + (other?.count ?? 0) });
      }
      return answer([...totals.values()]);
    },
    ignoredTypes(scope, since) {
      const names = { endpoints: namesOf(scope.endpoints), types: namesOf(scope.types) };
      const rows = statement(database, ignoredOf(scope)).all({ since, ...names }) as TotalRow[];
      return answer(rows.filter(({ count }) => count > 0));
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
