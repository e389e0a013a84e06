import type { EventKey, IncomingEvent } from '../inbox.ts';
import { TAKER_MS, type Attempt } from '../work.ts';
import { unparkNext, type EntityColumns } from './entity-queue.ts';
import { noteTime } from './follow-clock.ts';
import { makeTombstone } from './tombstone.ts';
import { reindex } from './operations/search/terms.ts';
import { FRESH_BATCH, type WorkStatements } from './work-statements.ts';

/** Deliveries share the commit, so a batch of large bodies ends early. */
const PRUNE_MS = 10;

export function rerun(
  statements: WorkStatements,
  { id, endpoint }: EventKey,
  { type, created, entity }: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
  now: number,
  readFrom: Uint8Array | undefined,
): boolean {
  const { changes } = statements.toPending.run({
    readFrom: readFrom ?? null,
    id,
    endpoint,
    now,
    type,
    created_ms: created?.ms,
    created_ns: created?.ns,
    entity,
  });
  if (changes === 0) return false;
  noteTime(statements, now);
  statements.tally.countType('rerun', type);
  // An invalid event has got its entity only now.
  reindex(statements.database, { id, endpoint });
  return true;
}

export function announce(
  statements: WorkStatements,
  types: readonly string[] | '*',
  now: number,
  ignoreBefore: number | null,
): void {
  noteTime(statements, now);
  for (const type of types === '*' ? ['*'] : types) statements.take.run({ type, now });
  statements.lookAtFresh.run({ now, limit: FRESH_BATCH });
  // Whom they waited for may have lost its taker meanwhile; who still has to wait is parked again.
  statements.unparkSome.run({ limit: FRESH_BATCH });
  if (ignoreBefore === null) return;
  const takenSince = now - TAKER_MS;
  for (const pending of statements.pendingTypes.all()) {
    const { type } = pending as { type: string };
    for (const found of statements.untakenOfType.all({ type, before: ignoreBefore, takenSince })) {
      const row = found as EntityColumns;
      statements.toIgnored.run({ seq: row.seq, now });
      statements.tally.countType('ignored', type);
      unparkNext(statements, row, now);
    }
  }
}

export function nextDue(statements: WorkStatements, types: readonly string[] | '*'): number | null {
  const found =
    types === '*' ? statements.nextDueOfAll.get() : statements.nextDue.get({ types: JSON.stringify(types) });
  return (found as { at: number | null }).at;
}

export function prune(statements: WorkStatements, before: number, limit: number): number {
  const startedAt = performance.now();
  let pruned = 0;
  for (const found of statements.prunable.all({ before, limit })) {
    const { seq } = found as { seq: number };
    makeTombstone(statements, seq, (statements.bodyOf.get({ seq }) as { body: Uint8Array }).body);
    pruned += 1;
    if (performance.now() - startedAt > PRUNE_MS) break;
  }
  return pruned;
}

export function attemptsOf(statements: WorkStatements, { id, endpoint }: EventKey): Attempt[] {
  return statements.attemptsOf.all({ id, endpoint }).map((found) => {
    const row = found as {
      number: number;
      trigger: Attempt['trigger'];
      outcome: Attempt['outcome'];
      started_ms: number;
      ended_ms: number;
      error_name: string | null;
      error_message: string | null;
      error_stack: string | null;
    };
    const error =
      row.error_name === null
        ? null
        : { name: row.error_name, message: row.error_message ?? '', stack: row.error_stack };
    return {
      number: row.number,
      trigger: row.trigger,
      outcome: row.outcome,
      startedAt: new Date(row.started_ms),
      endedAt: new Date(row.ended_ms),
      error,
    };
  });
}
