import { IGNORE_AFTER_MS, TAKER_MS, type Announced, type Scope } from '../work.ts';
import { unparkNext, type EntityColumns } from './entity-queue.ts';
import { noteTime } from './follow-clock.ts';
import { lastSeen, noteTaker, readyEndpoints, takenTypes } from './takers.ts';
import { FRESH_BATCH, type WorkStatements } from './work-statements.ts';

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

/**
 * One step of a sweep through what waits, which takes the same time however much that is. Where it has come to is for the
 * caller to remember, since only a commit makes it true.
 */
export function announce(
  statements: WorkStatements,
  scope: Scope,
  now: number,
  ignoreBefore: number | null,
  sweep: Sweep,
): Announced & { readonly sweep: Sweep } {
  noteTime(statements, now);
  noteTaker(statements, scope, now);
  const upTo = Number.MAX_SAFE_INTEGER;
  statements.lookAtFresh.run({ now, upTo, limit: FRESH_BATCH });
  const parked = sweep.parked === null ? null : lookAtParked(statements, now, sweep.parked);
  const ignored: Ignored[] = [];
  let ignoring = ignoreBefore === null ? null : sweep.ignoring;
  if (ignoreBefore !== null && ignoring !== null) {
    ignoring = ignoreSome(statements, scope.endpoints, { now, before: ignoreBefore }, ignoring, ignored);
  }
  const more = parked !== null || ignoring !== null;
  return { ignored, more, sweep: more ? { parked, ignoring } : WHOLE_SWEEP };
}

/**
 * Whom a parked event waited for may have lost its taker meanwhile. The front of its entity may be looked at again, and so
 * may what nobody handles; the others go on waiting behind that front, however many they are.
 */
function lookAtParked(statements: WorkStatements, now: number, after: number): number | null {
  const rows = statements.parkedAfter.all({ after, limit: PARKED_BATCH }) as (Waiting & { readonly type: string })[];
  const taken = new Map<string, Scope['types']>();
  const fronts = new Map<string, Waiting>();
  for (const row of rows) {
    const { seq, endpoint, entity, type } = row;
    let types = taken.get(endpoint);
    if (types === undefined) {
      types = takenTypes(statements, endpoint, now - TAKER_MS);
      taken.set(endpoint, types);
    }
    if (types !== '*' && !types.includes(type)) statements.unpark.run({ seq });
    fronts.set(JSON.stringify([endpoint, entity]), row);
  }
  for (const front of fronts.values()) unparkNext(statements, front, now);
  return rows.length === PARKED_BATCH ? (rows.at(-1)?.seq ?? null) : null;
}

/** Puts away what nobody handles, from one type on; returns where to go on, or `null` at the end. */
function ignoreSome(
  statements: WorkStatements,
  endpoints: Scope['endpoints'],
  { now, before }: { readonly now: number; readonly before: number },
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
      const { type } = statements.nextReadyType.get({ endpoint, from }) as { type: string | null };
      if (type === null) break;
      types += 1;
      if (isGone(endpoint, type)) {
        const rows = statements.waitingOfType.all({ endpoint, type, before, limit: left }) as Waiting[];
        ignore(statements, rows, type, now);
        if (rows.length > 0) ignored.push({ endpoint, type, count: rows.length });
        left -= rows.length;
        // Of this type there may be more.
        if (left === 0) return { endpoint, from: type };
      }
      // The next text there is.
      from = `${type}\0`;
    }
  }
  return null;
}

function ignore(statements: WorkStatements, rows: readonly Waiting[], type: string, now: number): void {
  const fronts = new Map<string, Waiting>();
  for (const row of rows) {
    statements.toIgnored.run({ seq: row.seq, now });
    statements.tally.countType('ignored', type);
    // Once for each entity and not for each event: thousands of one entity may go.
    fronts.set(JSON.stringify([row.endpoint, row.entity]), row);
  }
  for (const front of fronts.values()) unparkNext(statements, front, now);
}
