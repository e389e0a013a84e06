/** The CHECKs of the tables enforce these unions. */
import type { Instant } from '../../../events/instant.ts';
import type { StoredEvent, DeadReason, EventState } from '../../event.ts';
import { occurrencesOf, type Times } from '../../rules/accept.ts';
import { factsOfAttempt, type AttemptFactColumns } from '../../rules/attempt.ts';
import type { SizedEvent } from '../../rules/store.ts';
import type { Attempt, AttemptError, DoneStep, Lease } from '../../work.ts';

type Flag = 0 | 1;

export interface EventRow {
  readonly seq: number;
  readonly endpoint: string;
  readonly id: string;
  readonly type: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly entity: string | null;
  readonly verified: Flag;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly received_ms: number;
  readonly due_ms: number;
  readonly attempts: number;
  readonly failures: number;
  readonly crashes: number;
  readonly trigger: Attempt['trigger'];
  readonly fence: number;
  readonly yields: Flag;
  readonly parked: Flag;
  readonly effect: Flag;
  readonly closing: Flag;
  readonly trace: string | null;
  readonly body_sha256: Uint8Array | null;
  readonly body: Uint8Array | null;
}

type Columns<Name extends keyof EventRow> = Pick<EventRow, Name>;
type About = Columns<'seq' | 'endpoint' | 'type' | 'entity' | 'created_ms' | 'created_ns'>;

export type KnownRow = Columns<'seq' | 'entity' | 'state' | 'verified' | 'body' | 'body_sha256'> &
  Record<'invalid' | 'erased', Flag>;

export type AheadRow = Pick<ClockRow, 'latest_ms' | 'back_ms'> &
  Record<'crowded' | 'paused' | 'busy' | 'superseded', Flag>;

export type CandidateRow = About & SizedEvent & Columns<'due_ms' | 'crashes' | 'trigger'>;

export type BurstRow = CandidateRow & Columns<'id' | 'attempts' | 'received_ms'>;

export type RowToRun = CandidateRow & Columns<'state' | 'dead_reason'> & { readonly pruned: Flag };

export type LeasedRow = Lease &
  Columns<'endpoint' | 'id' | 'verified' | 'received_ms' | 'attempts' | 'failures' | 'trace'> & {
    readonly body: Uint8Array;
  };

export type RunningRow = About &
  Lease &
  Columns<'attempts' | 'trigger' | 'yields' | 'state' | 'effect' | 'closing'> & { readonly claimed_ms: number };

export type ExpiredRow = RunningRow & SizedEvent & Columns<'id' | 'crashes'>;

export type FrontRow = SizedEvent &
  Columns<'yields' | 'parked'> & { readonly type: string; readonly created_ms: number; readonly created_ns: number };

export type DueRow = SizedEvent & Columns<'due_ms'>;

export type RowToRerun = Columns<'entity' | 'state'> & Record<'pruned' | 'as_read', Flag>;

export interface ClockRow {
  readonly latest_ms: number;
  readonly back_ms: number | null;
  readonly endpoint: string | null;
  readonly due_ms: number;
  readonly seq: number;
}

export interface ProcessorRow {
  readonly name: string;
  /** JSON, as `types` */
  readonly endpoints: string;
  readonly types: string;
  readonly started_ms: number;
  readonly seen_ms: number;
}

export interface TypeRow {
  readonly endpoint: string;
  readonly type: string;
  readonly count: number;
}

export interface AttemptRow extends Pick<Attempt, 'number' | 'trigger' | 'outcome'>, AttemptFactColumns {
  readonly started_ms: number;
  readonly ended_ms: number;
  readonly error_name: string | null;
  readonly error_message: string | null;
  readonly error_stack: string | null;
}

export interface StepRow extends Pick<DoneStep, 'name' | 'attempt' | 'result'> {
  readonly at_ms: number;
}

export interface TimesRow {
  readonly count: number;
  readonly first_ms: number;
  readonly last_ms: number;
  /** JSON array of milliseconds, oldest first */
  readonly recent: string;
}

export interface ConflictRow extends TimesRow {
  readonly body: Uint8Array;
}

export function createdOf({ created_ms: ms, created_ns: ns }: Columns<'created_ms' | 'created_ns'>): Instant | null {
  return ms === null ? null : { ms, ns: ns ?? 0 };
}

export function createdColumns(created: Instant | null | undefined) {
  return { created_ms: created?.ms ?? null, created_ns: created?.ns ?? null };
}

export function errorColumns(error: { readonly [Name in keyof AttemptError]: AttemptError[Name] | null } | null) {
  return { name: error?.name ?? null, message: error?.message ?? null, stack: error?.stack ?? null };
}

export function timesOf(row: TimesRow | undefined): Times | null {
  if (row === undefined) return null;
  return { count: row.count, first: row.first_ms, last: row.last_ms, recent: JSON.parse(row.recent) as number[] };
}

export function storedEvent(
  row: EventRow,
  redeliveries: TimesRow | undefined,
  conflict: ConflictRow | undefined,
): StoredEvent {
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
    redeliveries: occurrencesOf(timesOf(redeliveries)),
    conflict: conflict === undefined ? null : { ...occurrencesOf(timesOf(conflict)), body: conflict.body },
  };
}

export function attemptOf(row: AttemptRow): Attempt {
  const { number, trigger, outcome, error_name: name, error_message: message, error_stack: stack } = row;
  return {
    number,
    trigger,
    outcome,
    startedAt: new Date(row.started_ms),
    endedAt: new Date(row.ended_ms),
    error: name === null ? null : { name, message: message ?? '', stack },
    ...factsOfAttempt(row),
  };
}
