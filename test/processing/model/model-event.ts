import type { EventKey, IncomingEvent, DeadReason, EventState } from '../../../src/inbox/event.ts';
import type { Attempt } from '../../../src/inbox/work.ts';

/** Events that somebody handles: of which endpoints, of which types. */
export interface Handled {
  readonly endpoints: readonly string[] | '*';
  readonly types: readonly string[] | '*';
}

/** A process that handles some, and since when it runs, by the time that has really passed. */
export interface Worker extends Handled {
  readonly startedAt: number;
  /** what the clock showed then */
  readonly startedNow: number;
}

/** An event as the model knows it. */
export interface ModelEvent extends EventKey {
  /** its endpoint and its id: other endpoints may know the same id */
  readonly name: string;
  readonly seq: number;
  body: Uint8Array;
  type: string | null;
  created: IncomingEvent['created'];
  entity: string | null;
  state: EventState;
  deadReason: DeadReason | null;
  dueAt: number;
  failures: number;
  /** it has failed, and newer ones of its entity need not wait for it */
  yields: boolean;
  crashes: number;
  fence: number;
  leaseUntil: number;
  /** its transaction has committed and its handler runs on under its lease; `unsure` where the store does not say whether that ran out */
  hold: 'held' | 'unsure' | null;
  /** its holder has said that it closes */
  closing: boolean;
  settledAt: number;
  /** only a tombstone is left */
  pruned: boolean;
  /** when the clock was set back after its times were written, by the time that really passes; they may move with it */
  setBackAt: number | null;
  /** its holder may lose the lease: it crashed, was frozen, or the clock moved under it */
  disturbed: boolean;
  trigger: Attempt['trigger'];
  /** the first attempt that still counts, since it was rerun or got another body */
  historyFrom: number;
  /** its row was taken away */
  hasVanished: boolean;
  readonly attempts: Pick<Attempt, 'trigger' | 'outcome'>[];
}

export function nameOf({ endpoint, id }: EventKey): string {
  return endpoint === 'default' ? id : `${endpoint}/${id}`;
}

/** What a body says of its event, and the state that follows from it. */
export function content({ body, type, created, entity, valid }: IncomingEvent) {
  const state: EventState = valid ? 'pending' : 'dead';
  const deadReason: DeadReason | null = valid ? null : 'invalid';
  return { body: Uint8Array.from(body), type, created, entity, state, deadReason };
}

export function isOf({ endpoint }: ModelEvent, { endpoints }: Pick<Handled, 'endpoints'>): boolean {
  return endpoints === '*' || endpoints.includes(endpoint);
}

export function isHandled(event: ModelEvent, handled: Handled): boolean {
  return isOf(event, handled) && (handled.types === '*' || handled.types.includes(event.type ?? ''));
}

/** Events of one entity are those of one endpoint. */
export function entityOf({ endpoint, entity }: ModelEvent): string {
  return JSON.stringify([endpoint, entity]);
}

export function sameEntity(other: ModelEvent, event: ModelEvent): boolean {
  return other !== event && event.entity !== null && entityOf(other) === entityOf(event);
}

/** Nobody handles it unless an operator reruns it. */
export function isPutAway({ state }: ModelEvent): boolean {
  return state === 'dead' || state === 'ignored' || state === 'discarded';
}

/** Its handler may still run under its lease. */
export function mayHold({ state, hold }: ModelEvent): boolean {
  return state === 'processing' || hold !== null;
}

/** And that is certain. */
export function holds({ state, hold }: ModelEvent): boolean {
  return state === 'processing' || hold === 'held';
}

export function waitsBefore(other: ModelEvent, event: ModelEvent): boolean {
  return (
    other.state === 'pending' && !other.yields && (compare(other.created, event.created) || other.seq - event.seq) < 0
  );
}

export function compare(a: ModelEvent['created'], b: ModelEvent['created']): number {
  return (a?.ms ?? 0) - (b?.ms ?? 0) || (a?.ns ?? 0) - (b?.ns ?? 0);
}
