import type { EventKey, IncomingEvent } from '../event.ts';
import type { Attempt, Scope } from '../work.ts';
import { noteTime } from './follow-clock.ts';
import { timeSlice } from './time-slice.ts';
import { makeTombstone } from './tombstone.ts';
import { reindex } from './operator/search/search-words.ts';
import type { WorkStatements } from './work-statements.ts';

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

export function nextDue(statements: WorkStatements, { endpoints, types }: Scope): number | null {
  const named = { endpoints: JSON.stringify(endpoints), types: JSON.stringify(types) };
  const found =
    endpoints === '*'
      ? (types === '*' ? statements.nextDueOfAll : statements.nextDueAnywhere).get(named)
      : (types === '*' ? statements.nextDueOfEveryType : statements.nextDue).get(named);
  return (found as { at: number | null }).at;
}

export function prune(
  statements: WorkStatements,
  endpoints: Scope['endpoints'],
  before: number,
  limit: number,
): number {
  const slice = timeSlice();
  const found =
    endpoints === '*'
      ? statements.prunable.all({ before, limit })
      : endpoints.flatMap((endpoint) => statements.prunableOfEndpoint.all({ endpoint, before, limit }));
  let pruned = 0;
  for (const row of found.slice(0, limit)) {
    const { seq } = row as { seq: number };
    const { body } = statements.bodyOf.get({ seq }) as { body: Uint8Array };
    makeTombstone(statements, seq, body);
    pruned += 1;
    slice.add(body.byteLength);
    if (slice.isOver()) break;
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
