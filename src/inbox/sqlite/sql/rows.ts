import type { Instant } from '../../../events/instant.ts';
import type { StoredEvent, DeadReason, EventState } from '../../event.ts';
import { occurrencesOf, type Times } from '../../rules/accept.ts';
import type { NamedStatements } from './named-statements.ts';

/** The state of an event for actions: an event whose handler still runs is in processing, though it may be processed. */
export const STATE_TO_ACT_ON = "iif(lease_until_ms IS NULL, state, 'processing') AS state";

/** A row of hookbox_events, as far as an inbox shows it; the CHECKs of the table hold the unions. */
interface EventRow {
  readonly seq: number;
  readonly endpoint: string;
  readonly id: string;
  readonly type: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly entity: string | null;
  readonly verified: 0 | 1;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly received_ms: number;
  readonly body: Uint8Array | null;
}

/** A row of hookbox_redeliveries or hookbox_conflicts. */
interface OccurrencesRow {
  readonly count: number;
  readonly first_ms: number;
  readonly last_ms: number;
  /** JSON array of milliseconds, oldest first */
  readonly recent: string;
}

/** The time that an event says of itself; `null` where an invalid one has none. */
export function createdOf({
  created_ms: ms,
  created_ns: ns,
}: Pick<EventRow, 'created_ms' | 'created_ns'>): Instant | null {
  return ms === null ? null : { ms, ns: ns ?? 0 };
}

/** Of a row of hookbox_redeliveries or hookbox_conflicts; `null` where there is none. */
function timesOf(found: unknown): Times | null {
  if (found === undefined) return null;
  const { count, first_ms, last_ms, recent } = found as OccurrencesRow;
  return { count, first: first_ms, last: last_ms, recent: JSON.parse(recent) as number[] };
}

/** Everything that is kept about the event of a row. */
export function storedEvent(found: unknown, { known }: NamedStatements): StoredEvent {
  const row = found as EventRow;
  const conflict = known.conflicts.get(row.seq) as { body: Uint8Array } | undefined;
  return {
    seq: row.seq,
    endpoint: row.endpoint,
    id: row.id,
    type: row.type,
    created: createdOf(row),
    entity: row.entity,
    verified: row.verified === 1,
    state: row.state,
    deadReason: row.dead_reason,
    body: row.body,
    receivedAt: new Date(row.received_ms),
    redeliveries: occurrencesOf(timesOf(known.redeliveries.get(row.seq))),
    conflict: conflict === undefined ? null : { ...occurrencesOf(timesOf(conflict)), body: conflict.body },
  };
}
