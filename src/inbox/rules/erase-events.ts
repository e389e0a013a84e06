import { createHash } from 'node:crypto';
import type { EventKey } from '../event.ts';
import type { EraseReport } from '../operator/removal.ts';
import type { EventState } from '../state.ts';
import { addToAuditLine, type AuditLines } from './audit-line.ts';
import type { Counting, EntityQueue, TimeSlice, Tombstones } from './engine.ts';
import { unparkNext } from './entity-order.ts';
import { erasedState } from './erased-event.ts';
import { entityTerm, entityTerms, type NamesInBody, type Term } from './search-words.ts';
import type { Steps } from './steps.ts';
import { hashOf } from './tombstone.ts';

/** An event as far as it matters to finding and erasing it. */
export interface ErasableEvent extends EventKey {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  readonly state: EventState;
}

/** An event about an entity. */
export interface EventAbout extends ErasableEvent {
  /** `false`: it is about another one, and only the other body that is kept beside it is about this one */
  readonly whole: boolean;
}

/** What tells whether an event is about an entity. */
export interface Findings {
  erasable(seq: number): Steps<ErasableEvent | undefined>;
  /** Whether an event is found by a term. */
  hasTerm(event: ErasableEvent, term: Term): Steps<boolean>;
  /** What the other body names that is kept beside an event; nothing where there is none. */
  namesBeside(seq: number): Steps<NamesInBody>;
}

/** What an engine is asked for that erases; what goes must be gone from the disk as well. */
export interface Erasures extends Findings, Counting, EntityQueue, AuditLines, Pick<Tombstones, 'forgetConflict'> {
  /** Takes the event out of whatever finds it, and out of what finds it by this entity; asked before it changes. */
  forgetFoundBy(event: ErasableEvent, entity: string): Steps<void>;
  /** Its body, and how many bytes the other body has that is kept beside it. */
  bodies(seq: number): Steps<{ readonly body: Uint8Array | null; readonly bytesBeside: number }>;
  /** Makes a tombstone without an entity of it; `hash` is `null` where it has one already. */
  erase(seq: number, state: EventState, hash: Uint8Array | null, now: number): Steps<void>;
  /** Replaces the errors of its attempts by one that only has a name. */
  eraseErrors(seq: number, name: string): Steps<void>;
  /** Leaves no byte of the other body; answers with how many it had. That it came, and when, stays. */
  emptyConflict(seq: number): Steps<number>;
  /** Forgets which event of its entity was processed last. */
  forgetHighWater(queue: { readonly endpoint: string; readonly entity: string }): Steps<void>;
}

export type Erased = Pick<EraseReport, 'erased' | 'inProcessing'>;

/** The event, if it is about the entity now: another body may have taken the place of the one it was found by. */
export function* eventAbout(engine: Findings, seq: number, entity: string): Steps<EventAbout | null> {
  const event = yield* engine.erasable(seq);
  if (event === undefined) return null;
  const term = entityTerm(entity);
  if (yield* engine.hasTerm(event, term)) return { ...event, whole: true };
  const names = yield* engine.namesBeside(seq);
  return entityTerms(names).includes(term) ? { ...event, whole: false } : null;
}

/** What erasing these would come to. */
export function tryErase(events: readonly EventAbout[]): Erased {
  const inProcessing = events.filter((event) => stateAfter(event) === null).length;
  return { erased: events.length - inProcessing, inProcessing };
}

/** In which state it is left; `null` where it has to wait. Of one about another entity only the other body goes. */
function stateAfter({ whole, state }: EventAbout): EventState | null {
  return whole ? erasedState(state) : state;
}

/** What tells later whether a request was followed, without saying whose it was. */
export function printOf(entity: string): string {
  return `sha256:${createHash('sha256').update(entity).digest('hex').slice(0, 16)}`;
}

interface Erasing {
  readonly entity: string;
  /** the line of the audit that counts it too */
  readonly audit: number;
  readonly now: number;
}

/**
 * Erases what was found about an entity, each event as it is now.
 *
 * @param slice - ends it early
 * @returns also how many events it has looked at
 */
export function* eraseEvents(
  engine: Erasures,
  found: readonly Pick<EventAbout, 'seq'>[],
  { entity, audit, now }: Erasing,
  slice: TimeSlice,
): Steps<Erased & { readonly worked: number }> {
  const done = { erased: 0, inProcessing: 0 };
  const fronts = new Map<string, EventAbout>();
  const acted: number[] = [];
  let worked = 0;
  for (const { seq } of found) {
    worked += 1;
    const event = yield* eventAbout(engine, seq, entity);
    if (event === null) continue;
    const state = stateAfter(event);
    if (state === null) {
      done.inProcessing += 1;
      continue;
    }
    const bytes = event.whole
      ? yield* eraseEvent(engine, event, state, { entity, now })
      : yield* engine.emptyConflict(seq);
    // What goes is overwritten, so it is written once more.
    slice.add(2 * bytes);
    done.erased += 1;
    acted.push(seq);
    if (state !== event.state) {
      engine.counts.countType('discarded', event.type);
      fronts.set(JSON.stringify([event.endpoint, event.entity]), event);
    }
    if (slice.isOver()) break;
  }
  // Newer events of the same entity may have waited for these.
  yield* unparkNext(engine, [...fronts.values()], now);
  yield* addToAuditLine(engine, audit, done);
  if (acted.length > 0) yield* engine.noteActed(audit, acted, now);
  return { ...done, worked };
}

/** Answers with how many bytes its bodies had. */
function* eraseEvent(
  engine: Erasures,
  event: EventAbout,
  state: EventState,
  { entity: name, now }: Pick<Erasing, 'entity' | 'now'>,
): Steps<number> {
  const { seq, entity, endpoint } = event;
  // While the row still says what they are; of a pruned one nothing but the index may know what it was found by.
  yield* engine.forgetFoundBy(event, name);
  const { body, bytesBeside } = yield* engine.bodies(seq);
  yield* engine.erase(seq, state, body === null ? null : hashOf(body), now);
  // That an attempt has failed stays known.
  yield* engine.eraseErrors(seq, 'Erased');
  yield* engine.forgetConflict(seq);
  if (entity !== null) yield* engine.forgetHighWater({ endpoint, entity });
  return (body?.byteLength ?? 0) + bytesBeside;
}
