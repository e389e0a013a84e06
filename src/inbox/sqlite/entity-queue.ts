import { TAKER_MS, type ClaimRequest } from '../work.ts';
import { takenTypes } from './takers.ts';
import { timeSlice, type TimeSlice } from './time-slice.ts';
import type { Statements } from './statements.ts';

/** What decides about the order of an event within its entity. */
export interface EntityColumns {
  readonly seq: number;
  readonly endpoint: string;
  readonly entity: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
}

/** The first of the events that wait. */
interface Front extends Pick<EntityColumns, 'seq' | 'created_ms' | 'created_ns'> {
  readonly type: string;
}

type Whose = Pick<EntityColumns, 'entity' | 'endpoint'>;

/** As the statements name them. */
export function entityParameters({ entity, endpoint, created_ms, created_ns }: EntityColumns) {
  return { entity, endpoint, created_ms, created_ns };
}

/** Its entity has a live lease, or an older event that somebody handles is still waiting. */
export function mustWait(statements: Statements, row: EntityColumns, request: ClaimRequest): boolean {
  const { seq, entity, endpoint } = row;
  if (entity === null) return false;
  if (statements.queue.leaseOfEntity.get({ entity, endpoint }) !== undefined) return true;
  const { now, types, takenSince = now - TAKER_MS } = request;
  const front = frontOf(statements, { entity, endpoint });
  // This one is among what waits.
  if (front === undefined || front.seq === seq) return false;
  if (types === '*' || types.includes(front.type)) return true;
  const taken = takenTypes(statements, endpoint, takenSince);
  if (taken === '*' || taken.includes(front.type)) return true;
  return frontOfTypes(statements, { entity, endpoint }, [...types, ...taken])?.seq !== seq;
}

/**
 * An event has left its entity's front: the next one may be looked at again, and with it some before it whose type nobody
 * handles, as they hold nobody back. Of these the rest has its turn with the next announcement (announce.ts).
 */
export function unparkNext(
  statements: Statements,
  { entity, endpoint }: Whose,
  now: number,
  slice: TimeSlice = timeSlice(),
): void {
  if (entity === null) return;
  const front = frontOf(statements, { entity, endpoint });
  if (front === undefined) return;
  const taken = takenTypes(statements, endpoint, now - TAKER_MS);
  if (taken === '*' || taken.includes(front.type)) {
    unpark(statements, front.seq, slice);
    return;
  }
  const first = frontOfTypes(statements, { entity, endpoint }, taken);
  if (first !== undefined) unpark(statements, first.seq, slice);
  const { created_ms, created_ns, seq } = first ?? LAST;
  for (const row of statements.queue.someParkedUpTo.all({ entity, endpoint, created_ms, created_ns, seq })) {
    if (slice.isOver()) return;
    unpark(statements, (row as { seq: number }).seq, slice);
  }
}

/** An event that waited for others may be claimed again. */
export function unpark(statements: Statements, seq: number, slice: TimeSlice): void {
  const row = statements.moves.unpark.get({ seq }) as { bytes: number } | undefined;
  if (row !== undefined) slice.add(row.bytes);
}

/** The oldest event of an entity that waits. */
function frontOf(statements: Statements, { entity, endpoint }: Whose): Front | undefined {
  return statements.queue.frontOfEntity.get({ entity, endpoint }) as Front | undefined;
}

/** The oldest one of some types, however many wait before it that have others. */
function frontOfTypes(
  statements: Statements,
  { entity, endpoint }: Whose,
  types: readonly string[],
): Front | undefined {
  return statements.queue.frontOfTypes.get({ entity, endpoint, types: JSON.stringify(types) }) as Front | undefined;
}

/** After every event there can be. */
const LAST = { created_ms: Number.MAX_SAFE_INTEGER, created_ns: 0, seq: 0 };
