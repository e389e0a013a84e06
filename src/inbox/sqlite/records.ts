import type { IncomingEvent, Occurrences, StoredEvent } from '../event.ts';
import type { DeadReason, EventState } from '../state.ts';
import type { Statements } from './statements.ts';

/** A row of hookbox_events, as far as an inbox shows it; the CHECKs of the table hold the unions. */
export interface EventRow {
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

const RECENT = 20;

/** The columns that follow from a body, in the order of `insertEvent` and `replaceEvent`. */
export function contentOf(event: IncomingEvent) {
  return {
    about: [event.type, event.created?.ms ?? null, event.created?.ns ?? null, event.entity] as const,
    verified: event.verified ? 1 : 0,
    state: event.valid ? 'pending' : 'dead',
    deadReason: event.valid ? null : 'invalid',
    settledMs: event.valid ? null : event.receivedAt,
  };
}

/** Adds one occurrence to those of a row: count, first, last and the last twenty times. */
export function oneMore(
  row: unknown,
  at: number,
): readonly [count: number, first: number, last: number, recent: string] {
  if (row === undefined) return [1, at, at, JSON.stringify([at])];
  const { count, first_ms, recent } = row as OccurrencesRow;
  return [count + 1, first_ms, at, JSON.stringify([...times(recent), at].slice(-RECENT))];
}

/** Everything that is kept about the event of a row. */
export function storedEvent(found: unknown, statements: Statements): StoredEvent {
  const row = found as EventRow;
  const conflict = statements.findConflict.get(row.seq) as (OccurrencesRow & { body: Uint8Array }) | undefined;
  return {
    seq: row.seq,
    endpoint: row.endpoint,
    id: row.id,
    type: row.type,
    created: row.created_ms === null ? null : { ms: row.created_ms, ns: row.created_ns ?? 0 },
    entity: row.entity,
    verified: row.verified === 1,
    state: row.state,
    deadReason: row.dead_reason,
    body: row.body,
    receivedAt: new Date(row.received_ms),
    redeliveries: occurrences(statements.findRedeliveries.get(row.seq)),
    conflict: conflict === undefined ? null : { ...occurrences(conflict), body: conflict.body },
  };
}

function occurrences(found: unknown): Occurrences {
  if (found === undefined) return { count: 0, firstAt: null, lastAt: null, recent: [] };
  const { count, first_ms, last_ms, recent } = found as OccurrencesRow;
  return {
    count,
    firstAt: new Date(first_ms),
    lastAt: new Date(last_ms),
    recent: times(recent).map((ms) => new Date(ms)),
  };
}

function times(recent: string): readonly number[] {
  return JSON.parse(recent) as number[]; // written by oneMore
}
