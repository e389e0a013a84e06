import { PASSED_BATCH } from '../../rules/entity-order.ts';
import { isAmong } from '../../rules/processors.ts';
import type { Scope } from '../../work.ts';
import { pausedAt, pauseOf, type PauseRow, type StoredPause } from '../../rules/pauses.ts';
import { NOTHING_NEXT, type Front, type NextInQueue, type Queue, type SizedEvent } from '../../rules/store.ts';
import type { NamedStatements } from '../sql/named-statements.ts';

interface FrontRow extends SizedEvent {
  readonly type: string;
  readonly created_ms: number;
  readonly created_ns: number;
}

type PlacedRow = Omit<FrontRow, 'type'> & { readonly parked: 0 | 1 };
type Next = NonNullable<NextInQueue['front']> & { readonly type: string };

/** After every event. */
const LAST = { seq: 0, created: { ms: Number.MAX_SAFE_INTEGER, ns: 0 } };

/** The types whose events hold back newer ones of their entity; read from the file when it is first needed. */
export function holdingTypesOf(
  statements: NamedStatements,
  endpoint: string,
  handledSince: number,
  handles: Scope['types'] = [],
): () => Scope['types'] {
  let found: Scope['types'] | undefined;
  return () => {
    if (found !== undefined) return found;
    const taken = handles === '*' ? handles : handledTypesOf(statements, endpoint, handledSince);
    found = taken === '*' ? taken : [...new Set([...handles, ...taken, ...pausedAt(pausesOf(statements), endpoint)])];
    return found;
  };
}

/** The first pending event of a queue that holds back others: in most cases simply the first one. */
export function frontOf(
  { queue }: NamedStatements,
  { entity, endpoint }: Queue,
  holding: () => Scope['types'],
  isFree: (front: Front) => boolean = () => false,
): Front | undefined {
  const first = nextOf(queue.frontOfEntity.get({ entity, endpoint }));
  if (first === undefined || isFree(first)) return first;
  const types = holding();
  if (isAmong(types, first.type)) return first;
  return nextOf(queue.frontOfTypes.get({ entity, endpoint, types: JSON.stringify(types) }));
}

/** What may be claimed when the front of a queue has left. */
export function nextInQueue(statements: NamedStatements, queue: Queue, holding: () => Scope['types']): NextInQueue {
  const { entity, endpoint } = queue;
  if (entity === null) return NOTHING_NEXT;
  const rows = statements.queue.nextOfEntity.all({ entity, endpoint }) as (FrontRow & { yields: 0 | 1 })[];
  if (rows.length === 0) return NOTHING_NEXT;
  const yielding = rows.filter((row) => row.yields === 1);
  const first = nextOf(rows.find((row) => row.yields === 0));
  if (first === undefined) return { ...NOTHING_NEXT, yielding };
  const types = holding();
  if (isAmong(types, first.type)) return { front: first, passed: [], yielding };
  const front = nextOf(statements.queue.frontOfTypes.get({ entity, endpoint, types: JSON.stringify(types) }));
  return { front, passed: parkedUpTo(statements, queue, front ?? LAST), yielding };
}

/** The parked ones of the first events of a queue, up to one of them. */
function parkedUpTo(
  { queue }: NamedStatements,
  { entity, endpoint }: Queue,
  { created, seq }: Pick<Front, 'seq' | 'created'>,
): readonly SizedEvent[] {
  const upTo = { created_ms: created.ms, created_ns: created.ns, seq };
  const rows = queue.someUpTo.all({ entity, endpoint, ...upTo, limit: PASSED_BATCH }) as PlacedRow[];
  return rows
    .toSorted(inOrder)
    .slice(0, PASSED_BATCH)
    .filter(({ parked }) => parked === 1);
}

function inOrder(one: PlacedRow, other: PlacedRow): number {
  return one.created_ms - other.created_ms || one.created_ns - other.created_ns || one.seq - other.seq;
}

function nextOf(found: unknown): Next | undefined {
  if (found === undefined) return undefined;
  const { seq, type, created_ms, created_ns, bytes } = found as FrontRow;
  return { seq, type, created: { ms: created_ms, ns: created_ns }, bytes };
}

export function pausesOf({ queue }: NamedStatements): readonly StoredPause[] {
  return (queue.pauses.all() as PauseRow[]).map(pauseOf);
}

/** The types of an endpoint that a processor has announced since then. */
export function handledTypesOf({ queue }: NamedStatements, endpoint: string, since: number): Scope['types'] {
  const types = queue.handledTypes.all({ endpoint, since }).map((row) => (row as { type: string }).type);
  return types.includes('*') ? '*' : types;
}

/** When a processor that handles a type was last seen; `null` for never. */
export function lastSeenOf({ queue }: NamedStatements, endpoint: string, type: string): number | null {
  return (queue.lastSeen.get({ endpoint, type }) as { readonly at: number | null }).at;
}

/** The endpoints of a scope at which something may be claimed. */
export function readyEndpoints({ queue }: NamedStatements, endpoints: Scope['endpoints']): readonly string[] {
  if (endpoints !== '*') return endpoints;
  return queue.readyEndpoints.all().map((row) => (row as { value: string }).value);
}
