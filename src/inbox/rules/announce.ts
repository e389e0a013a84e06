import type { Announced, ProcessorIdentity, Scope } from '../work.ts';
import type { Processors, QueuedEvent, TimeSlice, WaitingTypes } from './engine.ts';
import { unpark, unparkNext } from './entity-order.ts';
import { holdingTypes, isPaused } from './pauses.ts';
import { noteProcessor } from './processors.ts';
import type { Steps } from './steps.ts';
import { goneSince, isAmong, thereSince, wasSeenAfter } from './takers.ts';

/** How many parked events one announcement looks at. */
const PARKED_BATCH = 250;
/** How many events it puts away, and how many types it looks at for that: senders can invent types. */
const IGNORE_BATCH = 200;
const TYPES_BATCH = 100;

/** How far the announcements of a scope have come in going through what waits; `null` for to the end. */
export interface Sweep {
  /** the parked event that was looked at last */
  readonly parked: number | null;
  /** where to go on with putting away */
  readonly ignoring: TypePosition | null;
}

/** One type of one endpoint: the first whose name is not before `from`. */
interface TypePosition {
  readonly endpoint: string | null;
  readonly from: string;
}

export const WHOLE_SWEEP: Sweep = { parked: 0, ignoring: { endpoint: null, from: '' } };

type Ignored = { endpoint: string; type: string; count: number };

/**
 * One step of a sweep through what waits, which takes the same time however much that is. Where it has come to is for the
 * caller to remember, since only a commit makes it true.
 */
export function* announce(
  engine: WaitingTypes & Processors,
  scope: Scope,
  now: number,
  ignoreBefore: number | null,
  sweep: Sweep,
  processor?: ProcessorIdentity,
): Steps<Announced & { readonly sweep: Sweep }> {
  yield* engine.noteTime(now);
  yield* engine.noteTaker(scope, now);
  if (processor !== undefined) yield* noteProcessor(engine, processor, scope, now);
  const slice = engine.timeSlice();
  yield* engine.lookAtFresh({ now, upTo: Number.MAX_SAFE_INTEGER }, slice);
  const parked = sweep.parked === null ? null : yield* lookAtParked(engine, now, sweep.parked, slice);
  const ignored: Ignored[] = [];
  let ignoring = ignoreBefore === null ? null : sweep.ignoring;
  if (ignoreBefore !== null && ignoring !== null) {
    ignoring = yield* ignoreSome(engine, scope.endpoints, { now, before: ignoreBefore, slice }, ignoring, ignored);
  }
  const more = parked !== null || ignoring !== null;
  return { ignored, more, sweep: more ? { parked, ignoring } : WHOLE_SWEEP };
}

/**
 * Whom a parked event waited for may have lost its taker meanwhile. The front of its entity may be looked at again, and so
 * may what nobody handles; the others go on waiting behind that front, however many they are.
 */
function* lookAtParked(engine: WaitingTypes, now: number, after: number, slice: TimeSlice): Steps<number | null> {
  const events = yield* engine.parkedAfter(after, PARKED_BATCH);
  const taken = new Map<string, Scope['types']>();
  const fronts = new Set<string>();
  for (const event of events) {
    const { seq, endpoint, entity, type } = event;
    const types = taken.get(endpoint) ?? (yield* holdingTypes(engine, endpoint, thereSince(now)));
    taken.set(endpoint, types);
    if (!isAmong(types, type)) yield* unpark(engine, seq, slice);
    const whose = JSON.stringify([endpoint, entity]);
    if (!fronts.has(whose)) yield* unparkNext(engine, event, now, slice);
    fronts.add(whose);
    if (slice.isOver()) return seq;
  }
  return events.length === PARKED_BATCH ? (events.at(-1)?.seq ?? null) : null;
}

/** Puts away what nobody handles, from one type on; returns where to go on, or `null` at the end. */
function* ignoreSome(
  engine: WaitingTypes,
  endpoints: Scope['endpoints'],
  { now, before, slice }: { readonly now: number; readonly before: number; readonly slice: TimeSlice },
  begin: TypePosition,
  ignored: Ignored[],
): Steps<TypePosition | null> {
  const gone = goneSince(now, before);
  const pauses = yield* engine.pauses();
  const ready = yield* engine.readyEndpoints(endpoints);
  const first = begin.endpoint === null ? 0 : Math.max(0, ready.indexOf(begin.endpoint));
  let types = 0;
  let left = IGNORE_BATCH;
  for (const endpoint of ready.slice(first)) {
    let from = endpoint === begin.endpoint ? begin.from : '';
    // One that handles every type leaves nothing to look at.
    if (wasSeenAfter(yield* engine.lastSeen(endpoint, '*'), gone)) continue;
    for (;;) {
      if (left === 0 || types === TYPES_BATCH) return { endpoint, from };
      const type = yield* engine.nextReadyType(endpoint, from);
      if (type === null) break;
      types += 1;
      // What is paused waits for its end, however long that takes.
      const waits = isPaused(pauses, { endpoint, type });
      if (!waits && !wasSeenAfter(yield* engine.lastSeen(endpoint, type), gone)) {
        const events = yield* engine.waitingOfType({ endpoint, type }, before, left);
        const count = yield* ignore(engine, events, type, now, slice);
        if (count > 0) ignored.push({ endpoint, type, count });
        left -= count;
        // Of this type there may be more.
        if (left === 0 || (count > 0 && slice.isOver())) return { endpoint, from: type };
      }
      // The next text there is.
      from = `${type}\0`;
    }
  }
  return null;
}

/** Puts away as many as fit in the slice, and at least one; returns how many. */
function* ignore(
  engine: WaitingTypes,
  events: readonly (QueuedEvent & { readonly bytes: number })[],
  type: string,
  now: number,
  slice: TimeSlice,
): Steps<number> {
  let count = 0;
  // Each entity moves on once and not with each event: thousands of one entity may go.
  for (const ofEntity of Map.groupBy(events, ({ entity }) => entity).values()) {
    for (const { seq, bytes } of ofEntity) {
      yield* engine.ignore(seq, now);
      engine.counts.countType('ignored', type);
      count += 1;
      slice.add(bytes);
      if (slice.isOver()) break;
    }
    const [front] = ofEntity;
    if (front !== undefined) yield* unparkNext(engine, front, now, slice);
    if (slice.isOver()) break;
  }
  return count;
}
