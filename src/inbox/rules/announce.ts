import type { Announced, ProcessorIdentity, Scope } from '../work.ts';
import type { Processors, TimeSlice, WaitingTypes } from './engine.ts';
import { Budget } from './budget.ts';
import { unparkNext } from './entity-order.ts';
import { holdingTypes, isPaused } from './pauses.ts';
import { noteProcessor } from './processors.ts';
import type { Steps } from './steps.ts';
import type { QueuedEvent } from './store.ts';
import { goneSince, isAmong, seenSince, wasSeenAfter } from './takers.ts';

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
  yield* engine.indexNew(now);
  const parked = sweep.parked === null ? null : yield* lookAtParked(engine, now, sweep.parked);
  const ignored: Ignored[] = [];
  let ignoring = ignoreBefore === null ? null : sweep.ignoring;
  if (ignoreBefore !== null && ignoring !== null) {
    ignoring = yield* ignoreSome(engine, scope.endpoints, { now, before: ignoreBefore, slice }, ignoring, ignored);
  }
  const more = parked !== null || ignoring !== null;
  return { ignored, more, sweep: more ? { parked, ignoring } : WHOLE_SWEEP };
}

/**
 * The processor that handled the events which a parked event waits for may be gone. Unparks the front of each entity, and
 * events that no processor handles; the others go on waiting behind that front, however many they are.
 */
function* lookAtParked(engine: WaitingTypes, now: number, after: number): Steps<number | null> {
  const found = yield* engine.parkedAfter(after, PARKED_BATCH);
  const budget = new Budget();
  const taken = new Map<string, Scope['types']>();
  const events: (typeof found)[number][] = [];
  const unhandled: number[] = [];
  for (const event of found) {
    if (budget.isSpent) break;
    const { seq, endpoint, type } = event;
    const types = taken.get(endpoint) ?? (yield* holdingTypes(engine, endpoint, seenSince(now)));
    taken.set(endpoint, types);
    events.push(event);
    if (isAmong(types, type)) continue;
    unhandled.push(seq);
    budget.spend(event.bytes);
  }
  const fronts = new Map(events.map((event) => [JSON.stringify([event.endpoint, event.entity]), event]));
  if (unhandled.length > 0) yield* engine.unpark(unhandled);
  yield* unparkNext(engine, [...fronts.values()], now, budget);
  const isEnd = events.length === found.length && found.length < PARKED_BATCH;
  return isEnd ? null : (events.at(-1)?.seq ?? null);
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

/** Sets as many to ignored as fit in the slice, and at least one; returns how many. */
function* ignore(
  engine: WaitingTypes,
  events: readonly (QueuedEvent & { readonly bytes: number })[],
  type: string,
  now: number,
  slice: TimeSlice,
): Steps<number> {
  // Each queue moves on once and not with each event: thousands of one entity may go.
  const left = new Map<string, QueuedEvent>();
  let count = 0;
  for (const event of events) {
    yield* engine.ignore(event.seq, now);
    engine.counts.countType('ignored', type);
    left.set(JSON.stringify([event.endpoint, event.entity]), event);
    count += 1;
    slice.add(event.bytes);
    if (slice.isOver()) break;
  }
  yield* unparkNext(engine, [...left.values()], now);
  return count;
}
