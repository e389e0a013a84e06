import type { EventKey, IncomingEvent, DeadReason, EventState } from '../../../src/inbox/event.ts';
import type { Attempt, Rate } from '../../../src/inbox/work.ts';

export interface Handled {
  readonly endpoints: readonly string[] | '*';
  readonly types: readonly string[] | '*';
  /** of each of its types; of all together for `*` */
  readonly rate?: Rate;
}

/** A process that handles some, and since when it runs, by the time that has really passed. */
export interface Worker extends Handled {
  readonly startedAt: number;
  readonly startedNow: number;
}

export interface ModelEvent extends EventKey {
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
  yields: boolean;
  crashes: number;
  fence: number;
  leaseUntil: number;
  /** its transaction has committed and its handler runs on under its lease; `unsure` where the store does not say whether that ran out */
  hold: 'held' | 'unsure' | null;
  /** its holder has said that it closes */
  closing: boolean;
  settledAt: number;
  pruned: boolean;
  /** when the clock was set back after its times were written, by the time that really passes; they may move with it */
  setBackAt: number | null;
  /** its holder may lose the lease: it crashed, was frozen, or the clock moved */
  disturbed: boolean;
  trigger: Attempt['trigger'];
  /** the first attempt that counts since a rerun or another body */
  historyFrom: number;
  hasVanished: boolean;
  /** a handler's step is kept */
  hasStep: boolean;
  readonly attempts: Pick<Attempt, 'trigger' | 'outcome'>[];
}

export function nameOf({ endpoint, id }: EventKey): string {
  return endpoint === 'default' ? id : `${endpoint}/${id}`;
}

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

export function entityOf({ endpoint, entity }: ModelEvent): string {
  return JSON.stringify([endpoint, entity]);
}

export function sameEntity(other: ModelEvent, event: ModelEvent): boolean {
  return other !== event && event.entity !== null && entityOf(other) === entityOf(event);
}

export function isPutAway({ state }: ModelEvent): boolean {
  return state === 'dead' || state === 'ignored' || state === 'discarded';
}

export function mayHold({ state, hold }: ModelEvent): boolean {
  return state === 'processing' || hold !== null;
}

export function holds({ state, hold }: ModelEvent): boolean {
  return state === 'processing' || hold === 'held';
}

export function waitsBefore(other: ModelEvent, event: ModelEvent): boolean {
  return (
    other.state === 'pending' && !other.yields && (compare(other.created, event.created) || other.seq - event.seq) < 0
  );
}

/** With the type and entity of the other, and newer. */
export function supersedes(newer: ModelEvent, event: ModelEvent): boolean {
  const isOrdered = (compare(newer.created, event.created) || newer.seq - event.seq) > 0;
  return sameEntity(newer, event) && newer.type === event.type && isOrdered;
}

export function compare(a: ModelEvent['created'], b: ModelEvent['created']): number {
  return (a?.ms ?? 0) - (b?.ms ?? 0) || (a?.ns ?? 0) - (b?.ns ?? 0);
}
