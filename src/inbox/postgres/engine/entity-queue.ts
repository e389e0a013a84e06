import { PASSED_BATCH, YIELDING_BATCH } from '../../rules/entity-order.ts';
import type { Front, NextInQueue, Queue } from '../../rules/store.ts';
import { keyOrNull, type Tables } from '../sql/tables.ts';
import type { Reading } from './transaction.ts';

const IN_ORDER = 'ORDER BY created_ms, created_ns, seq';

export function bothInOrder(columns: string, waiting: string, t: Tables, limit: number): string {
  const some = (yields: string): string =>
    `(SELECT ${columns} FROM ${t.queue} WHERE ${waiting} AND ${yields} ${IN_ORDER} LIMIT ${limit})`;
  return `${some('NOT yields')} UNION ALL ${some('yields')}`;
}

/**
 * Leases that were claimed in order, and those that were not: each kind has an index.
 *
 * @param same - SQL that compares a column with the entity, and the endpoint
 */
export function leased(columns: string, same: (entity: string) => string, t: Tables): string {
  const some = (where: string, entity: string): string =>
    `SELECT ${columns} FROM ${t.queue} WHERE ${where} AND ${same(entity)}`;
  return `
    ${some('leased_entity IS NOT NULL', 'leased_entity')}
    UNION ALL
    ${some('lease_until_ms IS NOT NULL AND leased_entity IS NULL AND entity IS NOT NULL', 'entity')}`;
}

/**
 * For WITH: the types that hold back newer events at each endpoint of some rows: announced since `since`, or paused.
 *
 * @param handled - SQL of further types, and of whether every type counts as handled
 */
export function holding(
  t: Tables,
  rows: string,
  since: string,
  handled: { readonly types: string; readonly every: string } = { types: `'{}'::text[]`, every: 'false' },
): string {
  return `holding AS MATERIALIZED (
    SELECT ends.endpoint, ${handled.every} OR coalesce(bool_or(named.type = '*'), false) AS every,
      ${handled.types} || coalesce(array_agg(named.type) FILTER (WHERE named.type IS NOT NULL), '{}') AS types
    FROM (SELECT DISTINCT endpoint FROM ${rows}) AS ends LEFT JOIN LATERAL (
      SELECT type FROM ${t.handling} WHERE endpoint IN (ends.endpoint, '*') AND seen_ms > ${since}
      UNION ALL SELECT type FROM ${t.pauses} WHERE endpoint = ends.endpoint
    ) AS named ON true GROUP BY ends.endpoint
  )`;
}

/** For FROM, beside `holding` and the rows named `of`. */
export function front(t: Tables, of: string): string {
  return `LEFT JOIN LATERAL (
    SELECT seq, type, created_ms, created_ns FROM ${t.queue} AS waiting
    WHERE entity IS NOT NULL AND entity = ${of}.entity AND endpoint = ${of}.endpoint AND lease_until_ms IS NULL
      AND (holding.every OR waiting.type = ANY(holding.types)) AND NOT yields ${IN_ORDER} LIMIT 1
  ) AS front ON true`;
}

/** `FRONT_COLUMNS`, as `frontOf` reads them. */
export interface FrontColumns {
  readonly front: number | null;
  readonly front_type: string | null;
  readonly front_ms: number | null;
  readonly front_ns: number | null;
}

export const FRONT_COLUMNS =
  'front.seq AS front, front.type AS front_type, front.created_ms AS front_ms, front.created_ns AS front_ns';

export function frontOf({ front: seq, front_type: type, front_ms: ms, front_ns: ns }: FrontColumns): Front | undefined {
  return seq === null || type === null || ms === null || ns === null ? undefined : { seq, type, created: { ms, ns } };
}

/** `nextColumns`, as `nextOf` reads them. */
export interface NextColumns extends FrontColumns {
  readonly passed: string | null;
  readonly yielding: string | null;
}

export function nextColumns(t: Tables, of: string): string {
  const same = `entity IS NOT NULL AND entity = ${of}.entity AND endpoint = ${of}.endpoint`;
  // Behind a bound, or a queue without a front would be read to its end.
  const upTo = `(created_ms, created_ns, seq) <= (coalesce(front.created_ms, ${Number.MAX_SAFE_INTEGER}), coalesce(front.created_ns, 0), coalesce(front.seq, 0))`;
  const waiting = `lease_until_ms IS NULL AND ${same} AND ${upTo}`;
  return `${FRONT_COLUMNS}, (
      SELECT json_agg(seq)::text FROM (
        SELECT seq, parked FROM (
          ${bothInOrder('seq, parked, created_ms, created_ns', waiting, t, PASSED_BATCH)}
        ) AS both_kinds ${IN_ORDER} LIMIT ${PASSED_BATCH}
      ) AS first WHERE parked
    ) AS passed, (
      SELECT json_agg(seq)::text FROM (
        SELECT seq FROM ${t.queue} WHERE yields AND parked AND ${same}
        ORDER BY entity, endpoint, seq LIMIT ${YIELDING_BATCH}
      ) AS yielders
    ) AS yielding`;
}

export function nextOf(row: NextColumns): NextInQueue {
  const found = frontOf(row);
  return { front: found && { ...found, bytes: 0 }, passed: parkedIn(row.passed), yielding: parkedIn(row.yielding) };
}

/** A row of the queue has no body, so its length does not matter. */
function parkedIn(seqs: string | null): NextInQueue['passed'] {
  return (JSON.parse(seqs ?? '[]') as number[]).map((seq) => ({ seq, bytes: 0 }));
}

/** The caller holds their slots, or only reads. */
export async function nextInQueues(
  { session, t }: Reading,
  queues: readonly Queue[],
  handledSince: number,
): Promise<readonly NextInQueue[]> {
  const rows = await session.rows<NextColumns>(
    `WITH given AS MATERIALIZED (SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS given (entity, endpoint)),
       ${holding(t, 'given', '$3')}
     SELECT ${nextColumns(t, 'given')} FROM given JOIN holding ON holding.endpoint = given.endpoint ${front(t, 'given')}`,
    [queues.map(({ entity }) => keyOrNull(entity)), queues.map(({ endpoint }) => endpoint), handledSince],
  );
  return rows.map(nextOf);
}
