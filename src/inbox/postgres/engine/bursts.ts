import { OTHERS_TO_LOAD, othersOf } from '../../rules/latest.ts';
import type { Burst, DueRequest, DueEvent, WaitingEvent } from '../../rules/store.ts';
import { createdOf } from '../sql/records.ts';
import { keyOrNull, toKey } from '../sql/tables.ts';
import { dueFacts } from './due-events.ts';
import { holding } from './entity-queue.ts';
import type { Transaction } from './transaction.ts';

interface BurstRow extends Omit<Burst['newest'], 'created' | 'front' | 'bytes'> {
  readonly created_ms: number;
  readonly created_ns: number;
  readonly place: number;
  readonly others: string | null;
  readonly oldest: string | null;
  readonly isNext: boolean;
}

/** All bursts in one statement. The caller holds the slots. */
export async function loadBursts(
  { session, t }: Transaction,
  events: readonly DueEvent[],
  { handles, handledSince }: DueRequest,
): Promise<readonly (Burst | undefined)[]> {
  const received = `(SELECT received_ms FROM ${t.events} AS events WHERE events.seq = waiting.seq LIMIT 1)`;
  const waiting = `lease_until_ms IS NULL AND entity = given.entity AND endpoint = given.endpoint`;
  const ordered = (order: string): string => `ORDER BY created_ms ${order}, created_ns ${order}, seq ${order}`;
  /** From both parts of the index: events that yield are behind the others. */
  const ofType = (where: string, order: string, limit: number): string => {
    const some = (yields: string): string =>
      `(SELECT * FROM ${t.queue} WHERE ${waiting} AND type = given.type AND ${yields} ${where} ${ordered(order)} LIMIT ${limit})`;
    return `SELECT * FROM (${some('NOT yields')} UNION ALL ${some('yields')}) AS waiting ${ordered(order)} LIMIT ${limit}`;
  };
  const other = "AND trigger = 'auto' AND seq <> due.seq";
  const facts = `json_agg(json_build_array(seq, attempts, ${received}) ${ordered('DESC')})::text`;
  const rows = await session.rows<BurstRow>(
    `WITH given AS MATERIALIZED (
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS given (endpoint, entity, type, place)
     ), ${holding(t, 'given', '$4', { types: '$5::text[]', every: '$6::boolean' })}
     SELECT given.place::integer, due.seq, due.endpoint, due.type, due.entity, due.created_ms, due.created_ns, due.crashes,
       due.trigger, due.attempts, due.due_ms AS "dueAt", ${dueFacts(t)},
       (SELECT id FROM ${t.events} AS events WHERE events.seq = due.seq LIMIT 1) AS id,
       ${received.replace('waiting.seq', 'due.seq')} AS "receivedAt",
       (SELECT ${facts} FROM (${ofType(other, 'DESC', OTHERS_TO_LOAD)}) AS waiting) AS others,
       (SELECT ${facts} FROM (${ofType(other, 'ASC', 1)}) AS waiting) AS oldest,
       NOT EXISTS (
         SELECT 1 FROM ${t.queue} AS waiting WHERE ${waiting} AND NOT yields
           AND (type <> given.type OR trigger = 'manual') AND (holding.every OR waiting.type = ANY(holding.types))
           AND (created_ms, created_ns, seq) < (due.created_ms, due.created_ns, due.seq)
       ) AS "isNext"
     FROM given JOIN holding ON holding.endpoint = given.endpoint CROSS JOIN LATERAL (${ofType('', 'DESC', 1)}) AS due`,
    [
      events.map(({ endpoint }) => endpoint),
      events.map(({ entity }) => keyOrNull(entity)),
      events.map(({ type }) => keyOrNull(type)),
      handledSince,
      handles === '*' ? [] : handles.map(toKey),
      handles === '*',
    ],
  );
  const byPlace = new Map(rows.map((row) => [row.place, row]));
  return events.map((_, at) => {
    const row = byPlace.get(at + 1);
    return row && burstOf(row);
  });
}

function burstOf({ others, oldest, isNext, ...row }: BurstRow): Burst {
  const newest = { ...row, created: createdOf(row), bytes: 0, front: undefined };
  return { newest, ...othersOf(waitingIn(others), waitingIn(oldest)[0]), isNext };
}

/** A row of the queue has no body, so its length does not matter. */
function waitingIn(rows: string | null): readonly WaitingEvent[] {
  const listed = JSON.parse(rows ?? '[]') as readonly (readonly [number, number, number])[];
  return listed.map(([seq, attempts, receivedAt]) => ({ seq, bytes: 0, attempts, receivedAt }));
}
