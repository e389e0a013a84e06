import type { EventKey } from '../../event.ts';
import type { Attempt } from '../../work.ts';
import type { NamedStatements } from '../sql/named-statements.ts';

/** A row of hookbox_attempts; the CHECKs of the table hold the unions. */
export interface AttemptRow {
  readonly number: number;
  readonly trigger: Attempt['trigger'];
  readonly outcome: Attempt['outcome'];
  readonly started_ms: number;
  readonly ended_ms: number;
  readonly error_name: string | null;
  readonly error_message: string | null;
  readonly error_stack: string | null;
  readonly skipped: string | null;
}

/** The attempts of an event, oldest first. */
export function attemptsOf({ queue }: NamedStatements, { id, endpoint }: EventKey): Attempt[] {
  return (queue.attemptsOf.all({ id, endpoint }) as AttemptRow[]).map((row) => ({
    number: row.number,
    trigger: row.trigger,
    outcome: row.outcome,
    startedAt: new Date(row.started_ms),
    endedAt: new Date(row.ended_ms),
    error:
      row.error_name === null
        ? null
        : { name: row.error_name, message: row.error_message ?? '', stack: row.error_stack },
    ...(row.skipped !== null && { skipped: row.skipped }),
  }));
}
