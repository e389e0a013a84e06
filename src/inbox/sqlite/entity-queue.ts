import { TAKER_MS, type ClaimRequest, type Scope } from '../work.ts';
import { takenTypes } from './takers.ts';
import type { WorkStatements } from './work-statements.ts';

/** What decides about the order of an event within its entity. */
export interface EntityColumns {
  readonly seq: number;
  readonly endpoint: string;
  readonly entity: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
}

type Front = Pick<EntityColumns, 'seq' | 'created_ms' | 'created_ns'>;

/** As the statements name them. */
export function entityParameters({ entity, endpoint, created_ms, created_ns }: EntityColumns) {
  return { entity, endpoint, created_ms, created_ns };
}

/** Its entity has a live lease, or an older event that somebody handles is still waiting. */
export function mustWait(statements: WorkStatements, row: EntityColumns, request: ClaimRequest): boolean {
  const { seq, entity, endpoint } = row;
  if (entity === null) return false;
  if (statements.leaseOfEntity.get({ entity, endpoint }) !== undefined) return true;
  const { now, types, takenSince = now - TAKER_MS } = request;
  const taken = types === '*' ? '*' : takenTypes(statements, endpoint, takenSince);
  const handled = taken === '*' || types === '*' ? '*' : [...types, ...taken];
  // Its own type is among them, so the front is an older event or this one.
  return frontOf(statements, row, handled)?.seq !== seq;
}

/**
 * An event has left its entity's front: the next one may be looked at again, and with it some before it whose type nobody
 * handles, as they hold nobody back. Of these the rest has its turn with the next announcement (announce.ts).
 */
export function unparkNext(
  statements: WorkStatements,
  { entity, endpoint }: Pick<EntityColumns, 'entity' | 'endpoint'>,
  now: number,
): void {
  if (entity === null) return;
  const front = frontOf(statements, { entity, endpoint }, takenTypes(statements, endpoint, now - TAKER_MS));
  if (front !== undefined) statements.unpark.run({ seq: front.seq });
  const { created_ms, created_ns, seq } = front ?? LAST;
  statements.unparkSomeUpTo.run({ entity, endpoint, created_ms, created_ns, seq });
}

/** The oldest event of an entity that waits and has one of these types. */
function frontOf(
  statements: WorkStatements,
  { entity, endpoint }: Pick<EntityColumns, 'entity' | 'endpoint'>,
  types: Scope['types'],
): Front | undefined {
  const front =
    types === '*'
      ? statements.frontOfEntity.get({ entity, endpoint })
      : statements.frontOfTypes.get({ entity, endpoint, types: JSON.stringify(types) });
  return front as Front | undefined;
}

/** After every event there can be. */
const LAST: Front = { created_ms: Number.MAX_SAFE_INTEGER, created_ns: 0, seq: 0 };
