import { Budget } from '../../rules/budget.ts';
import { latestTime, movedBack, setBackBy } from '../../rules/claim.ts';
import type { ClaimRequest } from '../../work.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import type { DueRow } from '../sql/rows.ts';
import { readyEndpoints } from './entity-queue.ts';

/** Deliveries wait while one transaction moves or indexes these events. */
const BATCH = 500;

export function noteTime({ queue }: NamedStatements, now: number): void {
  queue.noteTime.run({ latest: latestTime(0, now) });
}

export function isSetBack({ queue }: NamedStatements, now: number): boolean {
  const { latest_ms: latest, back_ms: back } = queue.clock.one();
  return back !== null || setBackBy(latest, now) > 0;
}

/**
 * See rules/claim.ts. Moves leases and the times of processors at once, and pending events in batches.
 *
 * @returns whether events are left to move
 */
export function followClock(
  statements: NamedStatements,
  { now, leaseMs }: Pick<ClaimRequest, 'now' | 'leaseMs'>,
): boolean {
  const { moves, queue } = statements;
  const { latest_ms: latest, back_ms: backBefore } = queue.clock.one();
  const back = setBackBy(latest, now);
  if (back === 0 && backBefore === null) return false;
  if (back > 0) {
    for (const { seq, lease_until_ms: until } of queue.leases.all()) {
      moves.moveLease.run({ seq, until: movedBack(until, back, now + leaseMs) });
    }
    queue.moveHandling.run({ now, back });
    queue.moveProcessors.run({ now, back });
    queue.movePauses.run({ now, back });
    queue.startMoving.run({ latest: latestTime(0, now), back: (backBefore ?? 0) + back });
  } else {
    noteTime(statements, now);
  }
  return movePending(statements, now, (backBefore ?? 0) + back);
}

/** The file keeps the progress, so another call or another process continues. */
function movePending(statements: NamedStatements, now: number, back: number): boolean {
  const { moves, queue } = statements;
  const { endpoint: reached, due_ms, seq } = queue.clock.one();
  const budget = new Budget();
  let left = BATCH;
  const move = (endpoint: string | null, rows: readonly DueRow[]): boolean => {
    for (const row of rows) {
      const due = movedBack(row.due_ms, back, now);
      left -= 1;
      if (due !== row.due_ms) {
        moves.moveDue.run({ seq: row.seq, due });
        budget.spend(row.bytes);
      }
      if (left > 0 && !budget.isSpent) continue;
      queue.goOnMoving.run({ endpoint, due: row.due_ms, seq: row.seq });
      return true;
    }
    return false;
  };
  if (reached === null && move(null, queue.asideAfter.all({ seq, limit: left }))) return true;
  for (const endpoint of readyEndpoints(statements, '*')) {
    if (reached !== null && endpoint < reached) continue;
    // Moving makes a due time earlier, so no event is met twice.
    const after = endpoint === reached ? { due: due_ms, seq } : { due: now, seq: Number.MAX_SAFE_INTEGER };
    if (move(endpoint, queue.dueAfter.all({ endpoint, ...after, limit: left }))) return true;
  }
  queue.endMoving.run();
  return false;
}

/** @returns whether events up to `upTo` are left to index */
export function indexNew({ moves, queue }: NamedStatements, now: number, upTo: number): boolean {
  const budget = new Budget();
  const rows = queue.fresh.all({ upTo, limit: BATCH });
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
