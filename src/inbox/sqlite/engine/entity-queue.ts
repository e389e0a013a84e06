import type { SyncStore } from '../../queue-operations.ts';
import { eventsToUnpark, PASSED_BATCH } from '../../rules/entity-order.ts';
import { isAmong, seenSince } from '../../rules/processors.ts';
import { pausedAt, pauseOf, type StoredPause } from '../../rules/pauses.ts';
import { NOTHING_NEXT, type Front, type NextInQueue, type Queue, type SizedEvent } from '../../rules/store.ts';
import type { Scope } from '../../work.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import type { FrontRow } from '../sql/rows.ts';

const LAST = { seq: 0, created: { ms: Number.MAX_SAFE_INTEGER, ns: 0 } };

/** Types whose events hold back newer ones of their entity. */
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

/** The first pending event that holds back others: in most cases the first one. */
export function frontOf(
  statements: NamedStatements,
  { entity, endpoint }: Queue,
  holding: () => Scope['types'],
  isFree: (front: Front) => boolean = () => false,
): Front | undefined {
  const first = nextOf(statements.queue.frontOfEntity.get({ entity, endpoint }));
  if (first === undefined || isFree(first)) return first;
  return holdingFront(statements, { entity, endpoint }, first, holding);
}

export function nextInQueue(statements: NamedStatements, queue: Queue, holding: () => Scope['types']): NextInQueue {
  const { entity, endpoint } = queue;
  if (entity === null) return NOTHING_NEXT;
  const rows = statements.queue.nextOfEntity.all({ entity, endpoint });
  if (rows.length === 0) return NOTHING_NEXT;
  const yielding = rows.filter((row) => row.yields === 1);
  const first = nextOf(rows.find((row) => row.yields === 0));
  if (first === undefined) return { ...NOTHING_NEXT, yielding };
  const front = holdingFront(statements, queue, first, holding);
  return { front, passed: front === first ? [] : parkedUpTo(statements, queue, front ?? LAST), yielding };
}

function holdingFront<First extends Front>(
  { queue }: NamedStatements,
  { entity, endpoint }: Queue,
  first: First,
  holding: () => Scope['types'],
) {
  const types = holding();
  if (isAmong(types, first.type)) return first;
  return nextOf(queue.frontOfTypes.get({ entity, endpoint, types: JSON.stringify(types) }));
}

function parkedUpTo(
  { queue }: NamedStatements,
  { entity, endpoint }: Queue,
  { created, seq }: Pick<Front, 'seq' | 'created'>,
): readonly SizedEvent[] {
  const upTo = { created_ms: created.ms, created_ns: created.ns, seq };
  return queue.someUpTo
    .all({ entity, endpoint, ...upTo, limit: PASSED_BATCH })
    .toSorted((a, b) => a.created_ms - b.created_ms || a.created_ns - b.created_ns || a.seq - b.seq)
    .slice(0, PASSED_BATCH)
    .filter(({ parked }) => parked === 1);
}

function nextOf(row: FrontRow | undefined): (Front & SizedEvent) | undefined {
  if (row === undefined) return undefined;
  return { seq: row.seq, type: row.type, created: { ms: row.created_ms, ns: row.created_ns }, bytes: row.bytes };
}

export function unparkNext(store: SyncStore, queues: readonly Queue[], now: number): void {
  const seqs = eventsToUnpark(store.nextInQueues(queues, seenSince(now)));
  store.apply([{ kind: 'unparked', seqs }]);
}

export function pausesOf({ queue }: NamedStatements): readonly StoredPause[] {
  return queue.pauses.all().map(pauseOf);
}

export function handledTypesOf({ queue }: NamedStatements, endpoint: string, since: number): Scope['types'] {
  const types = queue.handledTypes.all({ endpoint, since }).map(({ type }) => type);
  return types.includes('*') ? '*' : types;
}

export function readyEndpoints({ queue }: NamedStatements, endpoints: Scope['endpoints']): readonly string[] {
  return endpoints === '*' ? queue.readyEndpoints.all().map(({ value }) => value) : endpoints;
}
