import type { Instant } from '../../events/instant.ts';
import { putAwayStates, type DeadReason, type EventState, type IncomingEvent } from '../event.ts';
import type { Act, ActResult } from '../operator/acts.ts';
import type { EventFilter, EventSummary } from '../operator/search.ts';

export interface RequestedAct {
  readonly act: Act;
  readonly states: readonly EventState[];
  /** that the operator saw */
  readonly attempts?: number | undefined;
}

export interface ActedEvent {
  readonly state: EventState;
  readonly deadReason: DeadReason | null;
  readonly pruned: boolean;
  readonly attempts?: number;
  /** an erased event that was processed is not run again */
  readonly erased?: boolean;
  readonly inBackoff?: boolean;
}

export interface BodyToday {
  readonly type: string | null;
  readonly created: Instant | null;
  readonly entity: string | null;
}

/** The names of moves are those in `moves.ts` of an inbox. */
export type ActMove =
  /** a dead, ignored or discarded event gets the current reading of its body */
  | { readonly name: 'toPending'; readonly content: BodyToday }
  /** its type, time and entity belong to the attempt that succeeded, so they stay */
  | { readonly name: 'processedToPending' }
  /** an invalid event gets a type and a time, which a discarded one must have */
  | { readonly name: 'discard'; readonly content: Pick<BodyToday, 'type' | 'created'> | null }
  /** its attempts, failures, crashes and its place in the queue stay */
  | { readonly name: 'retry-now' };

export function summaryAt(summary: EventSummary, now: Date): EventSummary & ActedEvent {
  return { ...summary, inBackoff: summary.dueAt !== null && summary.dueAt > now };
}

export type ActDecision =
  | { readonly result: 'done'; readonly move: ActMove }
  | { readonly result: Exclude<ActResult, 'done'> };

export function requestByKey(act: Act, force: boolean, wanted?: readonly EventState[]): RequestedAct {
  return { act, states: appliesTo(act, force).filter((state) => wanted?.includes(state) ?? true) };
}

function appliesTo(act: Act, force: boolean): readonly EventState[] {
  if (act === 'discard') return ['dead', 'pending'];
  if (act === 'retry-now') return ['pending'];
  return force ? [...putAwayStates, 'processed'] : putAwayStates;
}

/**
 * Skips events that have another state by then. A rerun takes ignored and discarded events only if the filter
 * names them, or if it is forced.
 */
export function requestByFilter(act: Act, force: boolean, filter: EventFilter): RequestedAct {
  if (filter.events !== undefined && filter.states === undefined) return requestByKey(act, force);
  const wanted = filter.states ?? (filter.ignoredSince === undefined ? undefined : ['ignored']);
  const { states } = requestByKey(act, force, wanted);
  const isLeft = (state: EventState): boolean => state === 'ignored' || state === 'discarded';
  return { act, states: states.filter((state) => wanted !== undefined || force || !isLeft(state)) };
}

/** A retrying event has failed before, and an index finds such events among any number of pending events. */
export function searchedFor(
  { act, states }: RequestedAct,
  filter: EventFilter,
): EventFilter & Pick<RequestedAct, 'states'> {
  if (act !== 'retry-now') return { ...filter, states };
  return { ...filter, states: filter.retrying === false ? [] : states, retrying: true };
}

/**
 * An invalid event can be discarded only if its body fits the current schemas, because a discarded event has a type and a
 * time.
 *
 * @param event - `null` if none has the key
 * @param today - `null` if the body does not fit, or if `needsBody` returned `false`
 */
export function decideAct(
  { act, states, attempts }: RequestedAct,
  event: ActedEvent | null,
  today: BodyToday | null,
): ActDecision {
  if (event === null) return { result: 'unknown' };
  if (!states.includes(event.state)) {
    return { result: appliesTo(act, false).includes(event.state) ? 'changed' : 'not needed' };
  }
  if (attempts !== undefined && attempts !== event.attempts) return { result: 'changed' };
  if (act === 'retry-now') return event.inBackoff === true ? done({ name: 'retry-now' }) : { result: 'not needed' };
  if (act === 'discard' && event.deadReason !== 'invalid') return done({ name: 'discard', content: null });
  if (event.pruned) return { result: 'pruned' };
  if (event.state === 'processed' && event.erased === true) return { result: 'not needed' };
  if (today === null) return { result: 'still invalid' };
  if (act === 'discard') return done({ name: 'discard', content: { type: today.type, created: today.created } });
  return done(event.state === 'processed' ? { name: 'processedToPending' } : { name: 'toPending', content: today });
}

function done(move: ActMove): ActDecision {
  return { result: 'done', move };
}

export function needsBody(requested: RequestedAct, event: ActedEvent): boolean {
  return decideAct(requested, event, null).result === 'still invalid';
}

/** Whether an action may apply to an event, without reading its body. */
export function mayBeDone(requested: RequestedAct, event: ActedEvent): boolean {
  return needsBody(requested, event) || decideAct(requested, event, null).result === 'done';
}

export interface EventToRerun {
  readonly entity: string | null;
  readonly state: EventState;
  readonly isPruned: boolean;
  /** its body is still the one that was read */
  readonly isAsRead: boolean;
}

export type Content = Pick<IncomingEvent, 'type' | 'created' | 'entity'>;

export function mayRerun<Event extends Omit<EventToRerun, 'entity'>>(event: Event | undefined): event is Event {
  if (event === undefined || !event.isAsRead) return false;
  return mayBeDone(requestByKey('rerun', false), { state: event.state, deadReason: null, pruned: event.isPruned });
}
