import { Budget } from '../../rules/budget.ts';
import { latestTime, movedBack, setBackBy } from '../../rules/claim.ts';
import type { ClaimRequest } from '../../work.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { readyEndpoints } from './entity-queue.ts';

interface ClockRow {
  readonly latest_ms: number;
  readonly back_ms: number | null;
  readonly endpoint: string | null;
  readonly due_ms: number;
  readonly seq: number;
}

interface DueRow {
  readonly seq: number;
  readonly due_ms: number;
  readonly bytes: number;
}

/** How many events are moved at once: deliveries wait meanwhile. */
const MOVE_BATCH = 500;

/** Remembers the time at which a lease or a due time is written. */
export function noteTime(statements: NamedStatements, now: number): void {
  statements.queue.noteTime.run({ latest: latestTime(0, now) });
}

/** Whether the clock was set back, and leases or due times are left to move. */
export function isSetBack({ queue }: NamedStatements, now: number): boolean {
  const { latest_ms: latest, back_ms: back } = queue.clock.get() as ClockRow;
  return back !== null || setBackBy(latest, now) > 0;
}

/**
 * Moves back what was written before the clock was set back, if it was (see rules/claim.ts): leases, and when somebody was
 * seen, at once, as there are no more than handlers that run and types that are handled; and pending events in batches.
 *
 * @returns whether there is more to move
 */
export function followClock(
  statements: NamedStatements,
  { now, leaseMs }: Pick<ClaimRequest, 'now' | 'leaseMs'>,
): boolean {
  const { latest_ms: latest, back_ms: backBefore } = statements.queue.clock.get() as ClockRow;
  const back = setBackBy(latest, now);
  if (back === 0 && backBefore === null) return false;
  if (back > 0) {
    for (const found of statements.queue.leases.all()) {
      const { seq, lease_until_ms: until } = found as { seq: number; lease_until_ms: number };
      statements.moves.moveLease.run({ seq, until: movedBack(until, back, now + leaseMs) });
    }
    statements.queue.moveHandling.run({ now, back });
    statements.queue.moveProcessors.run({ now, back });
    statements.queue.startMoving.run({ latest: latestTime(0, now), back: (backBefore ?? 0) + back });
  } else {
    noteTime(statements, now);
  }
  return movePending(statements, now);
}

/** Where it has got to is in the file: it goes on in another call, or in another process. */
function movePending(statements: NamedStatements, now: number): boolean {
  const {
    back_ms: back,
    endpoint: reached,
    due_ms,
    seq,
  } = statements.queue.clock.get() as ClockRow & { back_ms: number };
  const budget = new Budget();
  let left = MOVE_BATCH;
  const move = (endpoint: string | null, rows: readonly DueRow[]): boolean => {
    for (const row of rows) {
      const due = movedBack(row.due_ms, back, now);
      left -= 1;
      if (due !== row.due_ms) {
        statements.moves.moveDue.run({ seq: row.seq, due });
        budget.spend(row.bytes);
      }
      if (left > 0 && !budget.isSpent) continue;
      statements.queue.goOnMoving.run({ endpoint, due: row.due_ms, seq: row.seq });
      return true;
    }
    return false;
  };
  if (reached === null && move(null, statements.queue.asideAfter.all({ seq, limit: left }) as DueRow[])) return true;
  for (const endpoint of readyEndpoints(statements, '*')) {
    if (reached !== null && endpoint < reached) continue;
    // Behind what was moved already: moving makes a due time earlier, so nothing is met twice.
    const after = endpoint === reached ? { due: due_ms, seq } : { due: now, seq: Number.MAX_SAFE_INTEGER };
    if (move(endpoint, statements.queue.dueAfter.all({ endpoint, ...after, limit: left }) as DueRow[])) return true;
  }
  statements.queue.endMoving.run();
  return false;
}

/** So many events are indexed in one transaction. */
const BATCH = 500;

/**
 * Adds new events up to `upTo` to the indexes that claims read.
 *
 * @returns whether some are left
 */
export function indexNew({ moves, queue }: NamedStatements, now: number, upTo: number): boolean {
  const budget = new Budget();
  const rows = queue.fresh.all({ upTo, limit: BATCH }) as { seq: number; bytes: number }[];
  let last: number | undefined;
  for (const { seq, bytes } of rows) {
    if (budget.isSpent) break;
    budget.spend(bytes);
    last = seq;
  }
  if (last === undefined) return false;
  moves.indexNew.run({ now, upTo: last, limit: BATCH });
  return rows.length === BATCH || last !== rows.at(-1)?.seq;
}
