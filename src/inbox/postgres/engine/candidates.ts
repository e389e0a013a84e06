import type { EndpointType } from '../../operator/pauses.ts';
import type { Candidate, CandidatesAsked } from '../../rules/engine.ts';
import { openLanes, pausesIn } from '../../rules/pauses.ts';
import type { Scope } from '../../work.ts';
import { fromText, toText } from '../driver/values.ts';
import { fromKey, toKey } from '../sql/keys.ts';
import type { Tables } from '../sql/tables.ts';
import { createdOf } from '../sql/records.ts';
import { readyEndpoints } from './takers.ts';
import { FRONT, leased } from './entity-queue.ts';
import type { Scene } from './scene.ts';

export interface CandidateRow {
  readonly seq: number;
  readonly endpoint: string;
  readonly type: string | null;
  readonly entity: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly crashes: number;
}

const READY = 'lease_until_ms IS NULL AND NOT parked';

/** So often it looks behind what others have locked, and so far: they have it for a moment, and who looks holds locks too. */
const MOST_LOOKS = 8;
const DEEPEST = 1_000;

/**
 * The longest due of a scope whose slots are free. They are looked for without a lock, so that nobody waits for who else
 * looks; then locked, and read again, as somebody may have had them in between. What another transaction has locked is left to
 * it, and what comes behind is looked at in its place.
 */
export async function candidates(
  scene: Scene,
  request: CandidatesAsked,
  wanted: Wanted,
): Promise<readonly Candidate[]> {
  const { suspects, limit } = wanted;
  const { session, t, locks, writes } = scene;
  await writes.flush();
  const busy = new Set<number>();
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const found = await dueOf(scene, request, wanted, [...busy]);
    if (found.length === 0) return [];
    const free = await locks.takeFree(found.map(({ slot }) => slot));
    const ours = found.filter(({ slot }) => free.has(slot)).map(({ seq }) => seq);
    const rows = await session.rows<JudgedRow>(judged(t), [ours, request.now, suspects]);
    for (const row of rows) note(scene, row);
    if (rows.length > 0 || found.length < limit) return rows.map(candidateOf);
    for (const { slot } of found) if (!free.has(slot)) busy.add(slot);
  }
  return [];
}

/** What is asked for of a scope. */
interface Wanted {
  readonly suspects: boolean;
  readonly limit: number;
  readonly pauses: readonly EndpointType[];
}

/**
 * Each endpoint and type of which something may be claimed, when it is due; a step through the index for each, whatever waits of
 * it. All of them, though senders can invent types: those behind a bound would never be claimed while those before it wait.
 */
async function readyLanes({ session, t }: Scene, endpoints: readonly string[]): Promise<readonly EndpointType[]> {
  const rows = await session.rows<EndpointType>(
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
    [endpoints.map(toText)],
  );
  return rows.map(({ endpoint, type }) => ({ endpoint: fromText(endpoint), type: fromKey(type) }));
}

/** What may be claimed of some types, by endpoint and type: of every type, those that something waits of. */
export async function lanesOf(
  scene: Scene,
  endpoints: readonly string[],
  types: Scope['types'],
): Promise<readonly EndpointType[]> {
  if (endpoints.length === 0) return [];
  if (types === '*') return readyLanes(scene, endpoints);
  return endpoints.flatMap((endpoint) => [...new Set(types)].map((type) => ({ endpoint, type })));
}

interface DueRow {
  readonly seq: number;
  readonly slot: number;
  readonly due_ms: number;
}

async function dueOf(
  scene: Scene,
  { endpoints, types, except, now }: CandidatesAsked,
  { suspects, limit, pauses }: Wanted,
  busy: readonly number[],
): Promise<readonly DueRow[]> {
  const { session, t } = scene;
  const there = [...new Set(await readyEndpoints(scene, endpoints))];
  // What is paused, or full, is passed over by its type, however much of it waits.
  const whole = there.filter(
    (endpoint) => types === '*' && except.length === 0 && !pausesIn(pauses, { endpoints: [endpoint], types }),
  );
  const others = there.filter((endpoint) => !whole.includes(endpoint));
  const lanes = await lanesOf(scene, others, types);
  const open = openLanes(pauses, lanes).filter(({ type }) => !except.includes(type));
  /** The first of one endpoint, or of one type of it, by an index on that expression. */
  const first = (due: string, more: string): string => `
    SELECT seq, slot, due_ms FROM (
      SELECT queue.seq, queue.slot, queue.due_ms FROM ${t.queue} AS queue
      WHERE queue.endpoint = named.endpoint AND ${READY} AND (queue.crashes = 0 OR $3::boolean) AND ${due} <= $2::bigint ${more}
      ORDER BY ${due}, queue.seq LIMIT ${DEEPEST}
    ) AS first WHERE slot <> ALL($5::smallint[]) LIMIT $4`;
  const asked = [now, suspects, limit, busy];
  const dueOfEndpoints = `
    SELECT due.* FROM unnest($1::text[]) AS named (endpoint)
    CROSS JOIN LATERAL (${first('queue.due_ms + 0', '')}) AS due ORDER BY due.due_ms, due.seq LIMIT $4`;
  const dueOfLanes = `
    SELECT due.* FROM unnest($1::text[], $6::text[]) AS named (endpoint, type)
    CROSS JOIN LATERAL (${first('queue.due_ms', 'AND queue.type = named.type')}) AS due
    ORDER BY due.due_ms, due.seq LIMIT $4`;
  const [ofEndpoints, ofLanes] = await Promise.all([
    whole.length === 0 ? [] : session.rows<DueRow>(dueOfEndpoints, [whole.map(toText), ...asked]),
    open.length === 0
      ? []
      : session.rows<DueRow>(dueOfLanes, [
          open.map(({ endpoint }) => toText(endpoint)),
          ...asked,
          open.map(({ type }) => toKey(type)),
        ]),
  ]);
  if (ofLanes.length === 0 || ofEndpoints.length === 0) return [...ofEndpoints, ...ofLanes];
  return [...ofEndpoints, ...ofLanes].toSorted((a, b) => a.due_ms - b.due_ms || a.seq - b.seq).slice(0, limit);
}

interface JudgedRow extends CandidateRow {
  readonly has_lease: boolean;
  readonly superseded: boolean;
  readonly front: number | null;
  readonly front_type: string | null;
  readonly front_ms: number | null;
  readonly front_ns: number | null;
}

/** Candidates with what decides about them; each entity is judged by one step through an index to its front. */
function judged(t: Tables): string {
  const same = 'entity IS NOT NULL AND entity = due.entity AND endpoint = due.endpoint';
  return `
    SELECT due.seq, due.endpoint, due.type, due.entity, due.created_ms, due.created_ns, due.crashes,
      EXISTS (${leased('1', (entity) => `${entity} = due.entity AND endpoint = due.endpoint`, t)}) AS has_lease,
      EXISTS (SELECT 1 FROM ${t.entities} AS done WHERE done.entity = due.entity AND done.endpoint = due.endpoint
        AND (done.created_ms, done.created_ns) > (due.created_ms, due.created_ns)) AS superseded,
      front.seq AS front, front.type AS front_type, front.created_ms AS front_ms, front.created_ns AS front_ns
    FROM ${t.queue} AS due LEFT JOIN LATERAL (
      SELECT seq, type, created_ms, created_ns FROM ${t.queue} WHERE ${same} AND lease_until_ms IS NULL AND ${FRONT} LIMIT 1
    ) AS front ON true
    WHERE due.seq = ANY($1::bigint[]) AND due.lease_until_ms IS NULL AND NOT due.parked AND due.due_ms <= $2
      AND (due.crashes = 0 OR $3::boolean)
    ORDER BY due.due_ms, due.seq`;
}

function note({ facts }: Scene, row: JudgedRow): void {
  const { seq, endpoint, entity } = candidateOf(row);
  facts.superseded.set(seq, row.superseded);
  const { front, front_type: type, front_ms: ms, front_ns: ns } = row;
  const hasFront = front !== null && type !== null && ms !== null && ns !== null;
  facts.note(
    { seq, endpoint, entity },
    { hasLease: row.has_lease, front: hasFront ? { seq: front, type: fromKey(type), created: { ms, ns } } : undefined },
  );
}

export function candidateOf(row: CandidateRow): Candidate {
  const { seq, endpoint, type, entity, crashes } = row;
  const named = entity === null ? null : fromKey(entity);
  // A row of the queue has no body that a change of it would write again.
  const typed = type === null ? null : fromKey(type);
  return { seq, endpoint: fromText(endpoint), type: typed, entity: named, created: createdOf(row), crashes, bytes: 0 };
}
