import type { Lane } from '../../operator/pauses.ts';
import type { Candidate, CandidatesAsked } from '../../rules/engine.ts';
import { openLanes, pausesIn } from '../../rules/pauses.ts';
import { fromText, toText } from '../driver/values.ts';
import { fromKey, toKey } from '../sql/keys.ts';
import type { Tables } from '../sql/tables.ts';
import { createdOf } from '../sql/records.ts';
import { readyEndpoints } from './takers.ts';
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

const READY_TYPES = 1_000;
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
  readonly pauses: readonly Lane[];
}

/** The types of some endpoints of which something may be claimed: so many at most, as senders can invent them. */
async function readyLanes({ session, t }: Scene, endpoints: readonly string[]): Promise<readonly Lane[]> {
  const rows = await session.rows<Lane>(
    `WITH RECURSIVE lanes AS (
       SELECT named.endpoint, (
         SELECT type FROM ${t.queue} WHERE ${READY} AND endpoint = named.endpoint ORDER BY endpoint, type LIMIT 1
       ) AS type FROM unnest($1::text[]) AS named (endpoint)
       UNION ALL
       SELECT lanes.endpoint, (
         SELECT type FROM ${t.queue} WHERE ${READY} AND endpoint = lanes.endpoint AND type > lanes.type
         ORDER BY endpoint, type LIMIT 1
       ) FROM lanes WHERE lanes.type IS NOT NULL
     ) SELECT endpoint, type FROM lanes WHERE type IS NOT NULL LIMIT ${READY_TYPES}`,
    [endpoints.map(toText)],
  );
  return rows.map(({ endpoint, type }) => ({ endpoint: fromText(endpoint), type: fromKey(type) }));
}

async function dueOf(
  scene: Scene,
  { endpoints, types, except, now }: CandidatesAsked,
  { suspects, limit, pauses }: Wanted,
  busy: readonly number[],
): Promise<readonly { readonly seq: number; readonly slot: number }[]> {
  const { session, t } = scene;
  const there = [...new Set(await readyEndpoints(scene, endpoints))];
  if (there.length === 0) return [];
  const named = there.map(toText);
  const wanted = types === '*' && except.length > 0 ? await readyTypesBut(scene, named, except) : types;
  const ready = `queue.endpoint = named.endpoint AND ${READY} AND (queue.crashes = 0 OR $3::boolean)`;
  /** The first of one endpoint, or of one type of it, by an index on that expression. */
  const first = (due: string, more: string): string => `
    SELECT seq, slot, due_ms FROM (
      SELECT queue.seq, queue.slot, queue.due_ms FROM ${t.queue} AS queue
      WHERE ${ready} AND ${due} <= $2::bigint ${more} ORDER BY ${due}, queue.seq LIMIT ${DEEPEST}
    ) AS first WHERE slot <> ALL($5::smallint[]) LIMIT $4`;
  if (pausesIn(pauses, { endpoints: there, types: wanted })) {
    const all =
      wanted === '*'
        ? await readyLanes(scene, there)
        : there.flatMap((endpoint) => [...new Set(wanted)].map((type) => ({ endpoint, type })));
    const open = openLanes(pauses, all);
    const lanes = [open.map(({ endpoint }) => toText(endpoint)), open.map(({ type }) => toKey(type))] as const;
    return session.rows(
      `SELECT due.seq, due.slot FROM unnest($1::text[], $6::text[]) AS named (endpoint, type)
       CROSS JOIN LATERAL (${first('queue.due_ms', 'AND queue.type = named.type')}) AS due
       ORDER BY due.due_ms, due.seq LIMIT $4`,
      [lanes[0], now, suspects, limit, busy, lanes[1]],
    );
  }
  const text =
    wanted === '*'
      ? `SELECT due.seq, due.slot FROM unnest($1::text[]) AS named (endpoint)
         CROSS JOIN LATERAL (${first('queue.due_ms + 0', '')}) AS due ORDER BY due.due_ms, due.seq LIMIT $4`
      : `SELECT due.seq, due.slot FROM unnest($1::text[]) AS named (endpoint) CROSS JOIN unnest($6::text[]) AS wanted (type)
         CROSS JOIN LATERAL (${first('queue.due_ms', 'AND queue.type = wanted.type')}) AS due
         ORDER BY due.due_ms, due.seq LIMIT $4`;
  const values = [named, now, suspects, limit, busy];
  return session.rows(text, wanted === '*' ? values : [...values, [...new Set(wanted)].map(toKey)]);
}

/** The types of what is ready at some endpoints; a step through the index for each, whatever waits of those left out. */
export async function readyTypesBut(
  { session, t }: Scene,
  endpoints: readonly string[],
  except: readonly string[],
): Promise<readonly string[]> {
  const where = `${READY} AND endpoint = named.endpoint`;
  const rows = await session.rows<{ type: string }>(
    `SELECT DISTINCT found.type FROM unnest($1::text[]) AS named (endpoint) CROSS JOIN LATERAL (
       WITH RECURSIVE found AS (
         (SELECT type FROM ${t.queue} WHERE ${where} ORDER BY type LIMIT 1)
         UNION ALL
         SELECT next.type FROM found CROSS JOIN LATERAL (
           SELECT type FROM ${t.queue} WHERE ${where} AND type > found.type ORDER BY type LIMIT 1
         ) AS next
       ) SELECT type FROM found
     ) AS found`,
    [endpoints],
  );
  return rows.map(({ type }) => fromKey(type)).filter((type) => !except.includes(type));
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
      EXISTS (SELECT 1 FROM ${t.queue} WHERE ${same} AND lease_until_ms IS NOT NULL) AS has_lease,
      EXISTS (SELECT 1 FROM ${t.entities} AS done WHERE done.entity = due.entity AND done.endpoint = due.endpoint
        AND (done.created_ms, done.created_ns) > (due.created_ms, due.created_ns)) AS superseded,
      front.seq AS front, front.type AS front_type, front.created_ms AS front_ms, front.created_ns AS front_ns
    FROM ${t.queue} AS due LEFT JOIN LATERAL (
      SELECT seq, type, created_ms, created_ns FROM ${t.queue} WHERE ${same} AND lease_until_ms IS NULL AND NOT yields
      ORDER BY created_ms, created_ns, seq LIMIT 1
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
