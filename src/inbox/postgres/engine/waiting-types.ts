import type { EntityQueue, Takers, TypeTotal, WaitingTypes } from '../../rules/engine.ts';
import { asked } from '../../rules/steps.ts';
import type { QueuedEvent } from '../../rules/store.ts';
import { COUNTED } from '../../rules/unhandled-report.ts';
import type { Scope } from '../../work.ts';
import { fromText, toText } from '../driver/values.ts';
import { fromKey, toKey } from '../sql/keys.ts';
import type { Scene } from './scene.ts';
import { readyEndpoints } from './takers.ts';

/** Types are the sender's text, so there may be any number of them. */
const TYPES = 200;

const READY = 'lease_until_ms IS NULL AND NOT parked';
const PUT_AWAY = "state = 'ignored'";

interface QueuedRow {
  readonly seq: number;
  readonly endpoint: string;
  readonly entity: string | null;
  readonly type: string;
}

interface TotalRow {
  readonly endpoint: string;
  readonly type: string;
  readonly count: number;
}

type Part = Omit<WaitingTypes, 'counts' | 'timeSlice' | 'noteTime' | keyof EntityQueue | keyof Takers>;

/** What waits, by type. */
export function waitingTypes(scene: Scene): Part {
  const { session, t, moves, locks } = scene;

  async function parkedAfter(seq: number, limit: number) {
    const rows = await session.rows<QueuedRow>(
      `SELECT seq, endpoint, entity, type FROM ${t.queue} WHERE parked AND seq + 0 > $1 ORDER BY seq + 0 LIMIT $2`,
      [seq, limit],
    );
    await locks.takeOf(rows.map((row) => row.seq));
    return rows.map((row) => ({ ...queuedOf(row), type: fromKey(row.type), bytes: 0 }));
  }

  /** Those whose slots are free: what somebody else moves just now is none that nobody handles. */
  async function waitingOfType(endpoint: string, type: string, dueBy: number, limit: number) {
    const where = `endpoint = $1 AND type = $2 AND ${READY} AND due_ms <= $3`;
    const values = [toText(endpoint), toKey(type), dueBy, limit];
    const found = await session.rows<{ seq: number; slot: number }>(
      `SELECT seq, slot FROM ${t.queue} WHERE ${where} ORDER BY due_ms, seq LIMIT $4`,
      values,
    );
    const free = await locks.takeFree(found.map(({ slot }) => slot));
    const ours = found.filter(({ slot }) => free.has(slot)).map(({ seq }) => seq);
    const rows = await session.rows<QueuedRow>(
      `SELECT seq, endpoint, entity, type FROM ${t.queue} WHERE ${where} AND seq = ANY($5::bigint[])
       ORDER BY due_ms, seq LIMIT $4`,
      [...values, ours],
    );
    return rows.map((row) => ({ ...queuedOf(row), bytes: 0 }));
  }

  return {
    indexNew: (now) => asked(session.run(moves.indexNew, [now]).then(() => {})),
    parkedAfter: (seq, limit) => asked(parkedAfter(seq, limit)),
    readyEndpoints: (endpoints) => asked(readyEndpoints(scene, endpoints)),
    nextReadyType(endpoint, from) {
      const text = `
        SELECT type FROM ${t.queue} WHERE ${READY} AND endpoint = $1 AND type >= $2 ORDER BY endpoint, type LIMIT 1`;
      const found = session.row<{ type: string }>(text, [toText(endpoint), toKey(from)]);
      return asked(found.then((row) => (row === undefined ? null : fromKey(row.type))));
    },
    waitingOfType: ({ endpoint, type }, dueBy, limit) => asked(waitingOfType(endpoint, type, dueBy, limit)),
    ignore: (seq, now) => asked(session.run(moves.toIgnored, [seq, now]).then(() => {})),
    pendingTypes: () => asked(pendingTypes(scene)),
    ignoredTypes: (scope, since) => asked(ignoredTypes(scene, scope, since)),
  };
}

function queuedOf({ seq, endpoint, entity }: QueuedRow): QueuedEvent {
  return { seq, endpoint: fromText(endpoint), entity: entity === null ? null : fromKey(entity) };
}

/** The endpoints and types of a condition, a step through an index of both for each. */
function lanes(table: string, where: string): string {
  return `
    WITH RECURSIVE lanes AS (
      (SELECT endpoint, type FROM ${table} WHERE ${where} ORDER BY endpoint, type LIMIT 1)
      UNION ALL
      SELECT next.endpoint, next.type FROM lanes CROSS JOIN LATERAL (
        SELECT endpoint, type FROM ${table} WHERE ${where} AND (endpoint, type) > (lanes.endpoint, lanes.type)
        ORDER BY endpoint, type LIMIT 1
      ) AS next
    ), named AS (SELECT endpoint, type FROM lanes LIMIT ${TYPES})`;
}

async function pendingTypes({ session, t }: Scene): Promise<readonly (TypeTotal & { readonly dueAt: number })[]> {
  const rows = await session.rows<TotalRow & { due_ms: number }>(`
    ${lanes(t.queue, READY)}
    SELECT named.endpoint, named.type, counted.due_ms, counted.count FROM named CROSS JOIN LATERAL (
      SELECT min(due_ms) AS due_ms, count(*) AS count FROM (
        SELECT due_ms FROM ${t.queue} WHERE ${READY} AND endpoint = named.endpoint AND type = named.type
        ORDER BY due_ms, seq LIMIT ${COUNTED + 1}
      ) AS first
    ) AS counted
    UNION ALL
    SELECT endpoint, type, min(due_ms), count(*) FROM (
      SELECT endpoint, type, due_ms FROM ${t.queue} WHERE parked ORDER BY seq + 0 LIMIT ${COUNTED}
    ) AS aside GROUP BY endpoint, type`);
  const totals = new Map<string, TypeTotal & { readonly dueAt: number }>();
  for (const { endpoint, type, due_ms, count } of rows) {
    const key = JSON.stringify([endpoint, type]);
    const other = totals.get(key);
    const dueAt = Math.min(due_ms, other?.dueAt ?? Infinity);
    const named = { endpoint: fromText(endpoint), type: fromKey(type) };
    totals.set(key, { ...named, dueAt, count: count + (other?.count ?? 0) });
  }
  return [...totals.values()];
}

async function ignoredTypes({ session, t }: Scene, { endpoints, types }: Scope, since: number): Promise<TypeTotal[]> {
  // Named ones are looked for by their names: of others there may be any number.
  const isNamed = endpoints !== '*' && types !== '*';
  const named = `
    WITH named AS (
      SELECT DISTINCT named.endpoint, wanted.type
      FROM unnest($2::text[]) AS named (endpoint) CROSS JOIN unnest($3::text[]) AS wanted (type)
    )`;
  const rows = await session.rows<TotalRow>(
    `${isNamed ? named : lanes(t.shelf, `${PUT_AWAY} AND type IS NOT NULL`)}
     SELECT named.endpoint, named.type, counted.count FROM named CROSS JOIN LATERAL (
       SELECT count(*) AS count FROM (
         SELECT 1 FROM ${t.shelf}
         WHERE ${PUT_AWAY} AND endpoint = named.endpoint AND type = named.type AND settled_ms >= $1 LIMIT ${COUNTED + 1}
       ) AS first
     ) AS counted
     WHERE ($2::text[] IS NULL OR named.endpoint = ANY($2::text[])) AND ($3::text[] IS NULL OR named.type = ANY($3::text[]))
       AND counted.count > 0
     ORDER BY named.endpoint, named.type`,
    [since, endpoints === '*' ? null : endpoints.map(toText), types === '*' ? null : types.map(toKey)],
  );
  return rows.map(({ endpoint, type, count }) => ({ endpoint: fromText(endpoint), type: fromKey(type), count }));
}
