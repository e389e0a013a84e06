import { TAKER_MS, type ClaimRequest } from '../work.ts';
import type { WorkStatements } from './work-statements.ts';

/** What decides about the order of an event within its entity. */
export interface EntityColumns {
  readonly seq: number;
  readonly endpoint: string;
  readonly entity: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
}

/** As the statements name them. */
export function entityParameters({ entity, endpoint, created_ms, created_ns }: EntityColumns) {
  return { entity, endpoint, created_ms, created_ns };
}

/** Its entity has a live lease, or an older event that somebody handles is still waiting. */
export function mustWait(statements: WorkStatements, row: EntityColumns, { now, types }: ClaimRequest): boolean {
  const { seq, entity, endpoint, created_ms, created_ns } = row;
  if (entity === null) return false;
  if (statements.leaseOfEntity.get({ entity, endpoint }) !== undefined) return true;
  const takenSince = now - TAKER_MS;
  const handled = types === '*' ? null : JSON.stringify(types);
  const older = { entity, endpoint, created_ms, created_ns, seq, takenSince, types: handled };
  return statements.olderOfEntity.get(older) !== undefined;
}

/**
 * An event has left its entity's front: the next one may be looked at again, and with it those before it whose type
 * nobody handles, as they hold nobody back.
 */
export function unparkNext(
  statements: WorkStatements,
  { entity, endpoint }: Pick<EntityColumns, 'entity' | 'endpoint'>,
  now: number,
): void {
  if (entity === null) return;
  const first = statements.firstTakenOfEntity.get({ entity, endpoint, takenSince: now - TAKER_MS });
  const { created_ms, created_ns, seq } = (first ?? LAST) as EntityColumns;
  statements.unparkUpTo.run({ entity, endpoint, created_ms, created_ns, seq });
}

/** After every event there can be. */
const LAST = { created_ms: Number.MAX_SAFE_INTEGER, created_ns: 0, seq: 0 };
