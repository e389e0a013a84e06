import type { EventKey, IncomingEvent } from '../event.ts';
import type { Attempt, Scope } from '../work.ts';
import { noteTime } from './follow-clock.ts';
import { timeSlice } from './time-slice.ts';
import { makeTombstone } from './tombstone.ts';
import { reindex } from './operator/search/search-words.ts';
import type { Statements } from './statements.ts';

export function rerun(
  statements: Statements,
  { id, endpoint }: EventKey,
  { type, created, entity }: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
  now: number,
  readFrom: Uint8Array | undefined,
): boolean {
  const { changes } = statements.moves.toPending.run({
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
  statements.counts.countType('rerun', type);
  // An invalid event has got its entity only now.
  reindex(statements.database, { id, endpoint });
  return true;
}

export function nextDue(statements: Statements, { endpoints, types }: Scope): number | null {
  const named = { endpoints: JSON.stringify(endpoints), types: JSON.stringify(types) };
  const found =
    endpoints === '*'
      ? (types === '*' ? statements.queue.nextDueOfAll : statements.queue.nextDueAnywhere).get(named)
      : (types === '*' ? statements.queue.nextDueOfEveryType : statements.queue.nextDue).get(named);
  return (found as { at: number | null }).at;
}

export function prune(statements: Statements, endpoints: Scope['endpoints'], before: number, limit: number): number {
  const slice = timeSlice();
  const found =
    endpoints === '*'
      ? statements.queue.prunable.all({ before, limit })
      : endpoints.flatMap((endpoint) => statements.queue.prunableOfEndpoint.all({ endpoint, before, limit }));
  let pruned = 0;
  for (const row of found.slice(0, limit)) {
    const { seq } = row as { seq: number };
    const { body } = statements.queue.bodyOf.get({ seq }) as { body: Uint8Array };
    makeTombstone(statements, seq, body);
    pruned += 1;
    slice.add(body.byteLength);
    if (slice.isOver()) break;
  }
  return pruned;
}

export function attemptsOf(statements: Statements, { id, endpoint }: EventKey): Attempt[] {
  return statements.queue.attemptsOf.all({ id, endpoint }).map((found) => {
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
