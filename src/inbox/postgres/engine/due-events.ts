import {
  openLanes,
  PAUSE_COLUMNS,
  pauseOf,
  pausesIn,
  type EndpointType,
  type PauseRow,
  type StoredPause,
} from '../../rules/pauses.ts';
import type { DueRequest, DueEvent, DueEvents } from '../../rules/store.ts';
import type { Scope } from '../../work.ts';
import { createdOf } from '../sql/records.ts';
import { toKey, type Tables } from '../sql/tables.ts';
import { front, FRONT_COLUMNS, frontOf, holding, leased, type FrontColumns } from './entity-queue.ts';
import type { Reading, Transaction } from './transaction.ts';

export const READY = 'lease_until_ms IS NULL AND NOT parked';

/** A claim searches at most this often, and this far, past events that others have locked. */
const MOST_LOOKS = 8;
const DEEPEST = 1_000;

/**
 * The first statement finds due events and locks their free slots, without waiting; the second one reads them again,
 * because another claim may have had them in between.
 */
export async function dueEvents(transaction: Transaction, request: DueRequest): Promise<DueEvents> {
  const { session, t, locks } = transaction;
  const { now, includeSuspects, limit, handles, handledSince } = request;
  const sources = await sourcesOf(transaction, request);
  if (sources === null) return NONE;
  const busy = new Set<number>();
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const values = [now, includeSuspects, limit, [...busy], ...sources.values];
    const found = await session.rows<FoundRow>(dueAndFree(t, sources), values);
    if (found.length === 0) return NONE;
    const ours = found.filter(({ free, slot }) => free || locks.holds(slot));
    locks.note(ours);
    const handled = handles === '*' ? [[], true] : [handles.map(toKey), false];
    const judged = [ours.map(({ seq }) => seq), now, includeSuspects, handledSince, ...handled, locks.all()];
    const rows = ours.length === 0 ? [] : await session.rows<DueRow>(withFacts(t), judged);
    const isShort = found.length < Math.min(limit, DEEPEST);
    // Events behind those that others have locked may be due too.
    if (rows.length > 0 || isShort) return { events: rows.map(dueEventOf), isAll: isShort && busy.size === 0 };
    for (const { slot } of found) if (!locks.holds(slot)) busy.add(slot);
  }
  return NONE;
}

const NONE: DueEvents = { events: [], isAll: true };

interface Sources {
  readonly endpoints: string | null;
  readonly lanes: string | null;
  /** from $5 on */
  readonly values: readonly unknown[];
}

/** `null` if nothing can be due. */
async function sourcesOf(
  transaction: Transaction,
  { endpoints, types, except, closed }: Pick<DueRequest, 'endpoints' | 'types' | 'except' | 'closed'>,
): Promise<Sources | null> {
  const every = `(${distinctEndpoints(transaction.t.queue, READY, 'endpoint, type')}) AS ends`;
  if (endpoints === '*' && !pausesIn(closed, { endpoints, types })) {
    if (types === '*' && except.length === 0) return { endpoints: every, lanes: null, values: [] };
    if (types !== '*') {
      const lanes = `(SELECT ends.endpoint, wanted.type FROM ${every} CROSS JOIN unnest($5::text[]) AS wanted (type)) AS lanes`;
      return { endpoints: null, lanes, values: [[...new Set(types)].map(toKey)] };
    }
  }
  const ready = [...new Set(await readyEndpoints(transaction, endpoints))];
  // Closed and full types are skipped by name, however many of their events wait.
  const isWhole = (endpoint: string): boolean =>
    types === '*' && except.length === 0 && !pausesIn(closed, { endpoints: [endpoint], types });
  const whole = ready.filter(isWhole);
  const others = ready.filter((endpoint) => !isWhole(endpoint));
  const open = openLanes(closed, await lanesOf(transaction, others, types)).filter(
    ({ type }) => !except.includes(type),
  );
  if (whole.length === 0 && open.length === 0) return null;
  const values: (readonly string[])[] = [];
  const list = (value: readonly string[]): string => `$${values.push(value) + 4}::text[]`;
  return {
    endpoints: whole.length === 0 ? null : `unnest(${list(whole)}) AS ends (endpoint)`,
    lanes:
      open.length === 0
        ? null
        : `unnest(${list(open.map(({ endpoint }) => endpoint))}, ${list(open.map(({ type }) => toKey(type)))})
           AS lanes (endpoint, type)`,
    values,
  };
}

/** For every type, returns those with a ready event. */
export async function lanesOf(
  reading: Reading,
  endpoints: readonly string[],
  types: Scope['types'],
): Promise<readonly EndpointType[]> {
  if (endpoints.length === 0) return [];
  if (types === '*') return readyLanes(reading, endpoints);
  return endpoints.flatMap((endpoint) => [...new Set(types)].map((type) => ({ endpoint, type })));
}

/**
 * Each type costs one step through the index. No limit, although senders can invent types: events behind a limit would
 * never be claimed.
 */
function readyLanes({ session, t }: Reading, endpoints: readonly string[]): Promise<readonly EndpointType[]> {
  return session.rows<EndpointType>(
    `WITH RECURSIVE lanes AS (
       SELECT named.endpoint, (
         SELECT type FROM ${t.queue} WHERE ${READY} AND endpoint = named.endpoint ORDER BY endpoint, type LIMIT 1
       ) AS type FROM unnest($1::text[]) AS named (endpoint)
       UNION ALL
       SELECT lanes.endpoint, (
         SELECT type FROM ${t.queue} WHERE ${READY} AND endpoint = lanes.endpoint AND type > lanes.type
         ORDER BY endpoint, type LIMIT 1
       ) FROM lanes WHERE lanes.type IS NOT NULL
     ) SELECT endpoint, type FROM lanes WHERE type IS NOT NULL`,
    [endpoints],
  );
}

interface FoundRow {
  readonly seq: number;
  readonly slot: number;
  readonly free: boolean;
}

function dueAndFree(t: Tables, { endpoints, lanes }: Sources): string {
  /** By an index on that expression. */
  const first = (of: string | null, due: string, more: string): readonly string[] =>
    of === null
      ? []
      : [
          `
    SELECT due.* FROM ${of} CROSS JOIN LATERAL (
      SELECT seq, slot, due_ms FROM (
        SELECT queue.seq, queue.slot, queue.due_ms FROM ${t.queue} AS queue
        WHERE ${more} AND ${READY} AND (queue.crashes = 0 OR $2::boolean) AND ${due} <= $1::bigint
        ORDER BY ${due}, queue.seq LIMIT ${DEEPEST}
      ) AS first WHERE slot <> ALL($4::smallint[]) LIMIT $3
    ) AS due`,
        ];
  const parts = [
    ...first(endpoints, 'queue.due_ms + 0', 'queue.endpoint = ends.endpoint'),
    ...first(lanes, 'queue.due_ms', 'queue.endpoint = lanes.endpoint AND queue.type = lanes.type'),
  ];
  return `
    WITH due AS MATERIALIZED (
      SELECT * FROM (${parts.join(' UNION ALL ')}) AS due ORDER BY due_ms, seq LIMIT $3
    ), free AS (
      SELECT slot FROM ${t.slots} WHERE slot = ANY(ARRAY(SELECT slot FROM due)) ORDER BY slot FOR UPDATE SKIP LOCKED
    ) SELECT seq, slot, slot = ANY(ARRAY(SELECT slot FROM free)) AS free FROM due ORDER BY due_ms, seq`;
}

interface DueRow extends Omit<DueEvent, 'created' | 'front' | 'bytes'>, FrontColumns {
  readonly created_ms: number | null;
  readonly created_ns: number | null;
}

/** An event may have moved to another slot before its slot was locked. */
export const SLOT_IS_HELD = 'slot = ANY($7::smallint[])';

/** Each entity costs one step through an index to its front. */
function withFacts(t: Tables): string {
  return `
    WITH due AS MATERIALIZED (
      SELECT seq, endpoint, type, entity, created_ms, created_ns, crashes, trigger, due_ms FROM ${t.queue}
      WHERE seq = ANY($1::bigint[]) AND ${SLOT_IS_HELD} AND ${READY} AND due_ms <= $2 AND (crashes = 0 OR $3::boolean)
    ), ${holding(t, 'due', '$4', { types: '$5::text[]', every: '$6::boolean' })}
    SELECT due.*, ${dueFacts(t)}, ${FRONT_COLUMNS}
    FROM due JOIN holding ON holding.endpoint = due.endpoint ${front(t, 'due')} ORDER BY due.due_ms, due.seq`;
}

export function dueFacts(t: Tables): string {
  return `
    EXISTS (${leased('1', (entity) => `${entity} = due.entity AND endpoint = due.endpoint`, t)}) AS "hasLease",
    EXISTS (SELECT 1 FROM ${t.entities} AS done WHERE done.entity = due.entity AND done.endpoint = due.endpoint
      AND (done.created_ms, done.created_ns) > (due.created_ms, due.created_ns)) AS "isSuperseded"`;
}

/** A row of the queue has no body, so its length does not matter. */
function dueEventOf(row: DueRow): DueEvent {
  return { ...row, created: createdOf(row), bytes: 0, front: frontOf(row) };
}

/** Pauses are few, because people make them. */
export async function pausesOf({ session, t }: Reading): Promise<readonly StoredPause[]> {
  return (await session.rows<PauseRow>(`SELECT ${PAUSE_COLUMNS} FROM ${t.pauses}`)).map(pauseOf);
}

export async function readyEndpoints(reading: Reading, endpoints: Scope['endpoints']): Promise<readonly string[]> {
  return endpoints === '*' ? endpointsOf(reading, reading.t.queue, READY, 'endpoint, type') : endpoints;
}

async function endpointsOf(
  { session }: Pick<Reading, 'session'>,
  ...of: Parameters<typeof distinctEndpoints>
): Promise<readonly string[]> {
  return (await session.rows<{ endpoint: string }>(distinctEndpoints(...of))).map(({ endpoint }) => endpoint);
}

/** @param order - of an index for this condition that begins with the endpoint */
export function distinctEndpoints(table: string, where: string, order: string): string {
  return `
    WITH RECURSIVE found AS (
      (SELECT endpoint FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT 1)
      UNION ALL
      SELECT next.endpoint FROM found CROSS JOIN LATERAL (
        SELECT endpoint FROM ${table} WHERE ${where} AND endpoint > found.endpoint ORDER BY ${order} LIMIT 1
      ) AS next
    ) SELECT endpoint FROM found`;
}
