import type { EventKey } from '../event.ts';
import type { DeadReason, EventState } from '../state.ts';
import type { Attempt, CrashedEvent } from '../work.ts';

/** An attempt that a claim has found crashed, with where its event stands, as engines keep it. */
export interface FoundCrash {
  readonly type: string | null;
  readonly attempt: number;
  readonly outcome: Attempt['outcome'];
  readonly ended_ms: number;
  readonly error_name: string | null;
  readonly error_message: string | null;
  readonly error_stack: string | null;
  readonly due_ms: number | null;
  /** of its event; `null` where that has gone on to other attempts since */
  readonly state: EventState | null;
  readonly dead_reason: DeadReason | null;
}

/** What is told of it. */
export function foundCrash(row: FoundCrash & EventKey): CrashedEvent {
  const { endpoint, id, type, attempt, error_name: name, error_message, error_stack: stack } = row;
  const deadReason = row.state === 'dead' ? row.dead_reason : null;
  return {
    endpoint,
    id,
    type,
    attempt,
    deadReason,
    dueAt: deadReason === null ? ((row.state === 'pending' ? row.due_ms : null) ?? row.ended_ms) : null,
    error: name === null ? null : { name, message: error_message ?? '', stack },
    ...(row.outcome === 'interrupted' && { wasClosing: true }),
  };
}
