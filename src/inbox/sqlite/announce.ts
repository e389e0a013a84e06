import { IGNORE_AFTER_MS, TAKER_MS, type Announced, type Scope } from '../work.ts';
import { unpark, unparkNext, type EntityColumns } from './entity-queue.ts';
import { noteTime } from './follow-clock.ts';
import { lookAtFresh } from './look-at-fresh.ts';
import { lastSeen, noteTaker, readyEndpoints, takenTypes } from './takers.ts';
import { timeSlice, type TimeSlice } from './time-slice.ts';
import type { Statements } from './statements.ts';

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
type Waiting = Pick<EntityColumns, 'seq' | 'endpoint' | 'entity'>;
type WaitingRow = Waiting & { readonly bytes: number };

/**
 * One step of a sweep through what waits, which takes the same time however much that is. Where it has come to is for the
 * caller to remember, since only a commit makes it true.
 */
export function announce(
  statements: Statements,
  scope: Scope,
  now: number,
  ignoreBefore: number | null,
  sweep: Sweep,
): Announced & { readonly sweep: Sweep } {
  noteTime(statements, now);
  noteTaker(statements, scope, now);
  const slice = timeSlice();
  lookAtFresh(statements, { now, upTo: Number.MAX_SAFE_INTEGER }, slice);
  const parked = sweep.parked === null ? null : lookAtParked(statements, now, sweep.parked, slice);
  const ignored: Ignored[] = [];
  let ignoring = ignoreBefore === null ? null : sweep.ignoring;
  if (ignoreBefore !== null && ignoring !== null) {
    ignoring = ignoreSome(statements, scope.endpoints, { now, before: ignoreBefore, slice }, ignoring, ignored);
  }
  const more = parked !== null || ignoring !== null;
  return { ignored, more, sweep: more ? { parked, ignoring } : WHOLE_SWEEP };
}

/**
 * Whom a parked event waited for may have lost its taker meanwhile. The front of its entity may be looked at again, and so
 * may what nobody handles; the others go on waiting behind that front, however many they are.
 */
function lookAtParked(statements: Statements, now: number, after: number, slice: TimeSlice): number | null {
  const rows = statements.queue.parkedAfter.all({ after, limit: PARKED_BATCH }) as (Waiting & {
    readonly type: string;
  })[];
  const taken = new Map<string, Scope['types']>();
  const fronts = new Set<string>();
  for (const row of rows) {
    const { seq, endpoint, entity, type } = row;
    let types = taken.get(endpoint);
    if (types === undefined) {
      types = takenTypes(statements, endpoint, now - TAKER_MS);
      taken.set(endpoint, types);
    }
    if (types !== '*' && !types.includes(type)) unpark(statements, seq, slice);
    const whose = JSON.stringify([endpoint, entity]);
    if (!fronts.has(whose)) unparkNext(statements, row, now, slice);
    fronts.add(whose);
    if (slice.isOver()) return seq;
  }
  return rows.length === PARKED_BATCH ? (rows.at(-1)?.seq ?? null) : null;
}

/** Puts away what nobody handles, from one type on; returns where to go on, or `null` at the end. */
function ignoreSome(
  statements: Statements,
  endpoints: Scope['endpoints'],
  { now, before, slice }: { readonly now: number; readonly before: number; readonly slice: TimeSlice },
  begin: TypePosition,
  ignored: Ignored[],
): TypePosition | null {
  const goneSince = Math.min(now - IGNORE_AFTER_MS, before);
  const isGone = (endpoint: string, type: string): boolean =>
    (lastSeen(statements, endpoint, type) ?? -Infinity) <= goneSince;
  const ready = readyEndpoints(statements, endpoints);
  const first = begin.endpoint === null ? 0 : Math.max(0, ready.indexOf(begin.endpoint));
  let types = 0;
  let left = IGNORE_BATCH;
  for (const endpoint of ready.slice(first)) {
    let from = endpoint === begin.endpoint ? begin.from : '';
    // One that handles every type leaves nothing to look at.
    if (!isGone(endpoint, '*')) continue;
    for (;;) {
      if (left === 0 || types === TYPES_BATCH) return { endpoint, from };
      const { type } = statements.queue.nextReadyType.get({ endpoint, from }) as { type: string | null };
      if (type === null) break;
      types += 1;
      if (isGone(endpoint, type)) {
        const rows = statements.queue.waitingOfType.all({ endpoint, type, before, limit: left }) as WaitingRow[];
        const count = ignore(statements, rows, type, now, slice);
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
function ignore(
  statements: Statements,
  rows: readonly WaitingRow[],
  type: string,
  now: number,
  slice: TimeSlice,
): number {
  let count = 0;
  // Each entity moves on once and not with each event: thousands of one entity may go.
  for (const ofEntity of Map.groupBy(rows, ({ entity }) => entity).values()) {
    for (const { seq, bytes } of ofEntity) {
      statements.moves.toIgnored.run({ seq, now });
      statements.counts.countType('ignored', type);
      count += 1;
      slice.add(bytes);
      if (slice.isOver()) break;
    }
    const [front] = ofEntity;
    if (front !== undefined) unparkNext(statements, front, now, slice);
    if (slice.isOver()) break;
  }
  return count;
}
