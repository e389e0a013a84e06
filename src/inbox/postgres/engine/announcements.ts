import {
  type ParkedEvent,
  type ReadyType,
  type TypePosition,
  type WaitingEvents,
  type HandledType,
  type NotedProcessor,
  COUNTED,
  type PendingType,
  type TypeTotal,
} from '../../rules/processors.ts';
import type { QueuedEvent } from '../../rules/store.ts';
import type { Scope } from '../../work.ts';
import { toKey } from '../sql/tables.ts';
import { READY, readyEndpoints } from './due-events.ts';
import { holding } from './entity-queue.ts';
import type { Reading, Transaction } from './transaction.ts';

/** Types are texts of the sender, so their number has no limit. */
const TYPES = 200;

const IGNORED = "state = 'ignored'";

export async function noteScope(
  { session, t }: Reading,
  { endpoints, types, named = [] }: Scope,
  now: number,
): Promise<void> {
  // In one order, so that two processors that announce the same do not deadlock.
  await session.run(
    `INSERT INTO ${t.handling} AS known (endpoint, type, seen_ms)
     SELECT DISTINCT named.endpoint, wanted.type, $3::bigint
     FROM unnest($1::text[]) AS named (endpoint) CROSS JOIN unnest($2::text[]) AS wanted (type) ORDER BY 1, 2
     ON CONFLICT (endpoint, type) DO UPDATE SET seen_ms = excluded.seen_ms WHERE excluded.seen_ms > known.seen_ms`,
    [endpoints === '*' ? ['*'] : endpoints, types === '*' ? ['*', ...named.map(toKey)] : types.map(toKey), now],
  );
}

export async function noteProcessor(
  { session, t }: Reading,
  { name, endpoints, types, startedAt, seenAt }: NotedProcessor,
  seenBy: number,
): Promise<void> {
  await Promise.all([
    session.run(
      `INSERT INTO ${t.processors} (name, endpoints, types, started_ms, seen_ms) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (name) DO UPDATE SET started_ms = excluded.started_ms, seen_ms = excluded.seen_ms`,
      [name, JSON.stringify(endpoints), JSON.stringify(types), startedAt, seenAt],
    ),
    // Another machine may do the same now; the later one finds nothing to do.
    session.run(
      `DELETE FROM ${t.processors} WHERE name = ANY(ARRAY(
         SELECT name FROM ${t.processors} WHERE seen_ms <= $1 FOR UPDATE SKIP LOCKED))`,
      [seenBy],
    ),
  ]);
}

export async function processorsAfter({ session, t }: Reading, since: number): Promise<readonly NotedProcessor[]> {
  const rows = await session.rows<NotedProcessor & { readonly endpoints: string; readonly types: string }>(
    `SELECT name, endpoints, types, started_ms AS "startedAt", seen_ms AS "seenAt" FROM ${t.processors}
     WHERE seen_ms > $1 ORDER BY started_ms, name`,
    [since],
  );
  return rows.map((row) => ({
    ...row,
    endpoints: JSON.parse(row.endpoints) as Scope['endpoints'], // as stored
    types: JSON.parse(row.types) as Scope['types'],
  }));
}

export function handledTypes({ session, t }: Reading): Promise<readonly HandledType[]> {
  return session.rows<HandledType>(`SELECT endpoint, type, seen_ms AS at FROM ${t.handling} ORDER BY endpoint, type`);
}

export async function isAnyProcessorThere({ session, t }: Reading, since: number): Promise<boolean> {
  return (await session.row(`SELECT 1 FROM ${t.handling} WHERE seen_ms > $1 LIMIT 1`, [since])) !== undefined;
}

/** Locks their slots. */
export async function parkedAfter(
  { session, t, locks }: Transaction,
  seq: number,
  limit: number,
  handledSince: number,
): Promise<readonly ParkedEvent[]> {
  const rows = await session.rows<ParkedEvent>(
    `WITH found AS MATERIALIZED (
       SELECT seq, endpoint, entity, type FROM ${t.queue} WHERE parked AND seq + 0 > $1 ORDER BY seq + 0 LIMIT $2
     ), ${holding(t, 'found', '$3')}
     SELECT found.*, 0 AS bytes, holding.every OR found.type = ANY(holding.types) AS "isHandled"
     FROM found JOIN holding ON holding.endpoint = found.endpoint ORDER BY seq`,
    [seq, limit, handledSince],
  );
  await locks.takeOf(rows.map((row) => row.seq));
  return rows;
}

/** Excludes endpoints at which a processor has handled every type since `gone`. */
export async function readyTypes(
  reading: Reading,
  endpoints: Scope['endpoints'],
  begin: TypePosition,
  gone: number,
  limit: number,
): Promise<readonly ReadyType[]> {
  const { session, t } = reading;
  const ready = await readyEndpoints(reading, endpoints);
  const first = begin.endpoint === null ? 0 : Math.max(0, ready.indexOf(begin.endpoint));
  const named = ready.slice(first);
  const some = `SELECT type FROM ${t.queue} WHERE ${READY} AND endpoint = named.endpoint`;
  return session.rows<ReadyType>(
    `SELECT named.endpoint, lanes.type, ${typeFacts(t, 'lanes.type')}
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS named (endpoint, first, place) CROSS JOIN LATERAL (
       WITH RECURSIVE types AS (
         (${some} AND type >= named.first ORDER BY endpoint, type LIMIT 1)
         UNION ALL
         SELECT next.type FROM types CROSS JOIN LATERAL (
           ${some} AND type > types.type ORDER BY endpoint, type LIMIT 1
         ) AS next
       ) SELECT type FROM types LIMIT $4
     ) AS lanes
     WHERE NOT EXISTS (
       SELECT 1 FROM ${t.handling} WHERE endpoint IN (named.endpoint, '*') AND type = '*' AND seen_ms > $3
     )
     ORDER BY place, lanes.type LIMIT $4`,
    [named, named.map((name) => toKey(name === begin.endpoint ? begin.from : '')), gone, limit],
  );
}

/** Excludes events whose slots other transactions hold. */
export async function waitingOf(
  { session, t, locks }: Transaction,
  types: readonly ReadyType[],
  dueBy: number,
  limit: number,
): Promise<WaitingEvents> {
  if (types.length === 0) return { events: [], endedAt: null };
  const found = await session.rows<{ readonly seq: number; readonly slot: number; readonly place: number }>(
    `SELECT waiting.seq, waiting.slot, place::integer
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS named (endpoint, type, place) CROSS JOIN LATERAL (
       SELECT seq, slot, due_ms FROM ${t.queue}
       WHERE endpoint = named.endpoint AND type = named.type AND ${READY} AND due_ms <= $3 ORDER BY due_ms, seq LIMIT $4
     ) AS waiting ORDER BY place, due_ms, seq LIMIT $4`,
    [types.map(({ endpoint }) => endpoint), types.map(({ type }) => toKey(type)), dueBy, limit],
  );
  const free = await locks.takeFree(found.map(({ slot }) => slot));
  const ours = found.filter(({ slot }) => free.has(slot));
  const rows = await session.rows<QueuedEvent & { readonly type: string }>(
    `SELECT seq, endpoint, entity, type FROM ${t.queue} WHERE seq = ANY($1::bigint[]) AND ${READY} AND due_ms <= $2`,
    [ours.map(({ seq }) => seq), dueBy],
  );
  const held = new Map(rows.map((row) => [row.seq, row]));
  const typeAt = (place: number): ReadyType | undefined => types[place - 1];
  const events = ours.flatMap(({ seq, place }) => {
    const row = held.get(seq);
    const type = typeAt(place)?.type;
    // Another body may have changed its type before its slot was locked.
    return row === undefined || type === undefined || row.type !== toKey(type) ? [] : [{ ...row, type, bytes: 0 }];
  });
  const last = found.length < limit ? undefined : found.at(-1);
  return { events, endedAt: (last && typeAt(last.place)) ?? null };
}

function lastSeen(t: Reading['t'], type: string): string {
  return `(SELECT max(seen_ms) FROM ${t.handling} WHERE endpoint IN (named.endpoint, '*') AND type IN (${type}, '*'))
    AS "lastSeen"`;
}

function typeFacts(t: Reading['t'], type: string, since = '0'): string {
  return `${lastSeen(t, type)}, EXISTS (
    SELECT 1 FROM ${t.pauses}
    WHERE endpoint = named.endpoint AND type = ${type} AND (until_ms IS NULL OR failures IS NOT NULL OR until_ms > ${since})
  ) AS "isPaused"`;
}

/** Each endpoint and type costs one step through an index. */
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

export function pendingTypes({ session, t }: Reading, handledSince: number): Promise<readonly PendingType[]> {
  return session.rows<PendingType>(
    `
    ${lanes(t.queue, READY)}, totals AS (
      SELECT named.endpoint, named.type, counted.due_ms, counted.count FROM named CROSS JOIN LATERAL (
        SELECT min(due_ms) AS due_ms, count(*) AS count FROM (
          SELECT due_ms FROM ${t.queue} WHERE ${READY} AND endpoint = named.endpoint AND type = named.type
          ORDER BY due_ms, seq LIMIT ${COUNTED + 1}
        ) AS first
      ) AS counted
      UNION ALL
      SELECT endpoint, type, min(due_ms), count(*) FROM (
        SELECT endpoint, type, due_ms FROM ${t.queue} WHERE parked ORDER BY seq + 0 LIMIT ${COUNTED}
      ) AS aside GROUP BY endpoint, type
    )
    SELECT named.*, ${typeFacts(t, 'named.type', '$1')},
      EXISTS (SELECT 1 FROM ${t.handling} WHERE endpoint IN (named.endpoint, '*')) AS "wasEndpointHandled"
    FROM (
      SELECT endpoint, type, min(due_ms) AS "dueAt", sum(count)::bigint AS count FROM totals GROUP BY endpoint, type
    ) AS named`,
    [handledSince],
  );
}

export function ignoredTypes(
  { session, t }: Reading,
  { endpoints, types }: Scope,
  since: number,
): Promise<readonly TypeTotal[]> {
  // Looks named types up by name, because the number of others has no limit.
  const isNamed = endpoints !== '*' && types !== '*';
  const named = `
    WITH named AS (
      SELECT DISTINCT named.endpoint, wanted.type
      FROM unnest($2::text[]) AS named (endpoint) CROSS JOIN unnest($3::text[]) AS wanted (type)
    )`;
  return session.rows<TypeTotal>(
    `${isNamed ? named : lanes(t.shelf, `${IGNORED} AND type IS NOT NULL`)}
     SELECT named.endpoint, named.type, counted.count, ${lastSeen(t, 'named.type')} FROM named CROSS JOIN LATERAL (
       SELECT count(*) AS count FROM (
         SELECT 1 FROM ${t.shelf}
         WHERE ${IGNORED} AND endpoint = named.endpoint AND type = named.type AND settled_ms >= $1 LIMIT ${COUNTED + 1}
       ) AS first
     ) AS counted
     WHERE ($2::text[] IS NULL OR named.endpoint = ANY($2::text[])) AND ($3::text[] IS NULL OR named.type = ANY($3::text[]))
       AND counted.count > 0
     ORDER BY named.endpoint, named.type`,
    [since, endpoints === '*' ? null : endpoints, types === '*' ? null : types.map(toKey)],
  );
}
