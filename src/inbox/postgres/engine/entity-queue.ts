import type { EntityQueue, Front, Queue, Takers } from '../../rules/engine.ts';
import { YIELDING_BATCH } from '../../rules/entity-order.ts';
import { answer, asked, DONE } from '../../rules/steps.ts';
import { fromText, toText } from '../driver/values.ts';
import { fromKey, toKey } from '../sql/keys.ts';
import type { Tables } from '../sql/tables.ts';
import type { Scene } from './scene.ts';

const IN_ORDER = 'ORDER BY created_ms, created_ns, seq';
/** The end of a WHERE, and the order: of pending events of an entity, those that hold others back. */
export const FRONT = `NOT yields ${IN_ORDER}`;

/** Pending events of an entity, in their order: those that hold others back, and those that yield. */
export function bothInOrder(columns: string, waiting: string, t: Tables, limit: string): string {
  const some = (yields: string): string =>
    `(SELECT ${columns} FROM ${t.queue} WHERE ${waiting} AND ${yields} ${IN_ORDER} LIMIT ${limit})`;
  return `${some('NOT yields')} UNION ALL ${some('yields')}`;
}

/**
 * Leases of an entity: the one that was claimed in order, and those that were claimed without an order; each has an index.
 *
 * @param same - that a column with the entity, and the endpoint, are those that are meant
 */
export function leased(columns: string, same: (entity: string) => string, t: Tables): string {
  const some = (where: string, entity: string): string =>
    `SELECT ${columns} FROM ${t.queue} WHERE ${where} AND ${same(entity)}`;
  return `
    ${some('leased_entity IS NOT NULL', 'leased_entity')}
    UNION ALL
    ${some('lease_until_ms IS NOT NULL AND leased_entity IS NULL AND entity IS NOT NULL', 'entity')}`;
}

interface FrontRow {
  readonly seq: number;
  readonly parked: boolean;
  readonly type: string;
  readonly created_ms: number;
  readonly created_ns: number;
}

/** What waits of one entity. Whoever asks holds its slot, or only reads. */
export function entityQueue({
  session,
  t,
  moves,
  facts,
  writes,
}: Scene): Omit<EntityQueue, 'timeSlice' | keyof Takers> {
  const waiting = `lease_until_ms IS NULL AND entity IS NOT NULL AND entity = $1 AND endpoint = $2`;
  const lease = `${leased('1', (entity) => `${entity} = $1 AND endpoint = $2`, t)} LIMIT 1`;
  const front = `
    SELECT created_ms, created_ns, seq, type, parked FROM ${t.queue} WHERE ${waiting} AND ${FRONT} LIMIT 1`;
  const next = `
    (SELECT created_ms, created_ns, seq, type, parked, yields FROM ${t.queue} WHERE ${waiting} AND ${FRONT} LIMIT 1)
    UNION ALL (
      SELECT created_ms, created_ns, seq, type, parked, yields FROM ${t.queue}
      WHERE yields AND parked AND entity = $1 AND endpoint = $2 ORDER BY entity, endpoint, seq LIMIT ${YIELDING_BATCH})`;
  const frontOfTypes = `
    SELECT created_ms, created_ns, seq, type, parked FROM ${t.queue} WHERE ${waiting} AND type = ANY($3::text[]) AND ${FRONT} LIMIT 1`;
  const place = '(created_ms, created_ns, seq) <= ($3::bigint, $4::integer, $5::bigint)';
  const upTo = `
    SELECT seq FROM (
      SELECT seq, parked FROM (
        ${bothInOrder('seq, parked, created_ms, created_ns', `${waiting} AND ${place}`, t, '$6')}
      ) AS both_kinds ${IN_ORDER} LIMIT $6
    ) AS first WHERE parked`;
  const noted = (row: FrontRow | undefined): Front | undefined => {
    if (row !== undefined) facts.parked.set(row.seq, row.parked);
    return frontOf(row);
  };
  return {
    hasLease(queue) {
      const known = facts.of(queue)?.hasLease;
      if (known !== undefined) return answer(known);
      return asked(writes.flush().then(async () => (await session.row(lease, bound(queue))) !== undefined));
    },
    front(queue) {
      const known = facts.of(queue);
      if (known !== undefined) return answer(known.front);
      return asked(session.row<FrontRow>(front, bound(queue)).then(noted));
    },
    nextOf(queue) {
      const known = facts.of(queue);
      const yielding = facts.parkedYielding(queue);
      if (known !== undefined && yielding !== undefined) return answer({ front: known.front, yielding });
      return asked(
        session.rows<FrontRow & { readonly yields: boolean }>(next, bound(queue)).then((rows) => {
          const yielding = rows.filter(({ yields }) => yields).map(({ seq }) => seq);
          facts.noteYielding(queue, yielding);
          return { front: noted(rows.find(({ yields }) => !yields)), yielding };
        }),
      );
    },
    frontOfTypes: (queue, types) =>
      asked(session.row<FrontRow>(frontOfTypes, [...bound(queue), types.map(toKey)]).then(noted)),
    park(seq) {
      facts.parked.set(seq, true);
      writes.park(seq);
      return DONE;
    },
    unpark(seq) {
      // The length of its body does not matter here: a row of the queue has none.
      const isParked = facts.parked.get(seq);
      if (isParked === undefined) {
        return asked(session.run(moves.unpark, [seq]).then((changes) => (changes === 0 ? undefined : 0)));
      }
      if (!isParked) return answer(undefined);
      facts.parked.set(seq, false);
      writes.unpark(seq);
      return answer(0);
    },
    parkedUpTo(queue, last, limit) {
      const { created, seq } = last ?? LAST;
      const values = [...bound(queue), created.ms, created.ns, seq, limit];
      return asked(session.rows<{ seq: number }>(upTo, values).then((rows) => rows.map((row) => row.seq)));
    },
  };
}

interface FoundFrontRow {
  readonly endpoint: string;
  readonly entity: string;
  readonly has_lease: boolean;
  /** JSON; `null` for none */
  readonly yielding: string | null;
  readonly seq: number | null;
  readonly type: string;
  readonly parked: boolean;
  readonly created_ms: number;
  readonly created_ns: number;
}

/** Reads the fronts of many queues, for who asks for them one by one. */
export async function readFronts({ session, t, facts }: Scene, queues: readonly Queue[]): Promise<void> {
  const same = 'entity IS NOT NULL AND entity = given.entity AND endpoint = given.endpoint';
  const named = queues.filter(({ entity }) => entity !== null).map(bound);
  if (named.length === 0) return;
  const rows = await session.rows<FoundFrontRow>(
    `SELECT given.entity, given.endpoint,
       EXISTS (${leased('1', (entity) => `${entity} = given.entity AND endpoint = given.endpoint`, t)}) AS has_lease, (
         SELECT json_agg(seq)::text FROM (
           SELECT seq FROM ${t.queue} WHERE yields AND parked AND entity = given.entity AND endpoint = given.endpoint
           ORDER BY entity, endpoint, seq LIMIT ${YIELDING_BATCH}
         ) AS parked
       ) AS yielding, front.*
     FROM unnest($1::text[], $2::text[]) AS given (entity, endpoint) LEFT JOIN LATERAL (
       SELECT seq, type, parked, created_ms, created_ns FROM ${t.queue}
       WHERE ${same} AND lease_until_ms IS NULL AND ${FRONT} LIMIT 1
     ) AS front ON true`,
    [named.map(([entity]) => entity), named.map(([, endpoint]) => endpoint)],
  );
  for (const row of rows) {
    const { seq } = row;
    const queue = { endpoint: fromText(row.endpoint), entity: fromKey(row.entity) };
    if (seq !== null) facts.parked.set(seq, row.parked);
    const front = seq === null ? undefined : frontOf({ ...row, seq });
    facts.note({ ...queue, seq: seq ?? 0 }, { hasLease: row.has_lease, front });
    facts.noteYielding(queue, JSON.parse(row.yielding ?? '[]') as number[]);
  }
}

/** After every event there can be. */
const LAST: Omit<Front, 'type'> = { created: { ms: Number.MAX_SAFE_INTEGER, ns: 0 }, seq: 0 };

function bound({ endpoint, entity }: Queue): readonly [string | null, string] {
  return [entity === null ? null : toKey(entity), toText(endpoint)];
}

function frontOf(row: FrontRow | undefined): Front | undefined {
  if (row === undefined) return undefined;
  return { seq: row.seq, type: fromKey(row.type), created: { ms: row.created_ms, ns: row.created_ns } };
}
