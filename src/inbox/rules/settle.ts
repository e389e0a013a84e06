import { isFarAhead } from '../../events/instant.ts';
import type { Counting } from './tally.ts';
import type { Lease, Settled, Settlement } from '../work.ts';
import { endingOf, type Ending } from './attempt-end.ts';
import type { Budget } from './budget.ts';
import { COMMITTED_ALONE } from './committed-alone.ts';
import { eventsToUnpark, nextAfter } from './entity-order.ts';
import type { AttemptOutcome, Change, HeldEvent, NextInQueue, RunningEvent } from './store.ts';

export interface SettlePlan {
  readonly result: Settled;
  readonly changes: readonly Change[];
}

/**
 * Ends an attempt, or the lease of an event whose `ctx.transaction` ended its attempt before.
 *
 * @param event - the event under the lease; `undefined` if the lease is lost
 * @param before - how the attempt under this lease ended, if an earlier call may have ended it without an answer
 */
export function planSettle(
  lease: Lease,
  event: HeldEvent | undefined,
  settlement: Settlement,
  now: number,
  before?: AttemptOutcome,
): SettlePlan {
  if (settlement.outcome === 'committed') {
    const { error } = settlement;
    const late: readonly Change[] = error === undefined ? [] : [{ kind: 'late error', lease, error }];
    if (event?.isProcessed !== true) return { result: false, changes: late };
    return { result: true, changes: [...late, ...endLease(event)] };
  }
  const asked = endingOf(settlement, now);
  if (!isRunning(event)) {
    return { result: before === 'committed alone' ? before : before === asked.outcome, changes: [] };
  }
  const ranMs = settlement.outcome === 'interrupted' ? null : now - event.claimedAt;
  return {
    result: event.hasEffect ? 'committed alone' : true,
    changes: endAttempt(event, asked, now, { ranMs }).changes,
  };
}

/**
 * The last step of `ctx.transaction`: the event is processed. Its lease stays until the handler ends or the lease expires,
 * so no other event of its entity is claimed before then. `null` if the lease is lost.
 */
export function planProcessed(
  event: HeldEvent | undefined,
  settlement: Extract<Settlement, { readonly outcome: 'processed' }>,
  now: number,
): readonly Change[] | null {
  if (!isRunning(event)) return null;
  const ending = endingOf(settlement, now);
  return [ended(event, ending, now, { ranMs: now - event.claimedAt, keepsLease: true })];
}

/** Whether the handler of an event is running under its lease, even if the lease has expired. */
export function isRunning(event: HeldEvent | undefined): event is HeldEvent {
  return event !== undefined && !event.isProcessed;
}

/** Ends the lease of a processed event: the next one of its entity may be claimed. */
export function endLease({ seq, next }: HeldEvent, budget?: Budget): readonly Change[] {
  return [{ kind: 'lease ended', seq }, ...unpark(next, budget)];
}

/**
 * Ends an attempt. An event whose handler committed the transaction itself must not run again, so it is dead whatever its
 * attempt asks for.
 */
export function endAttempt(
  event: HeldEvent,
  asked: Ending,
  now: number,
  { ranMs = null, foundBy, budget }: { readonly ranMs?: number | null; readonly foundBy?: number; budget?: Budget },
): { readonly ending: Ending; readonly changes: readonly Change[] } {
  const ending = event.hasEffect ? endingOf(COMMITTED_ALONE, now) : asked;
  const end = ended(event, ending, now, { ranMs, ...(foundBy !== undefined && { foundBy }) });
  return { ending, changes: [end, ...unpark(nextAfter(event, ending), budget)] };
}

function ended(
  event: RunningEvent,
  ending: Ending,
  now: number,
  rest: { readonly ranMs: number | null; readonly keepsLease?: boolean; readonly foundBy?: number },
): Change {
  const { entity, created } = event;
  const supersedes = ending.state === 'processed' && entity !== null && created !== null && !isFarAhead(created, now);
  return { kind: 'attempt ended', event, ending, now, supersedes, keepsLease: false, ...rest };
}

function unpark(next: NextInQueue, budget?: Budget): readonly Change[] {
  const seqs = eventsToUnpark([next], budget);
  return seqs.length === 0 ? [] : [{ kind: 'unparked', seqs }];
}

/** Counts what operators see of the ends of attempts. */
export function countChange(counts: Counting['counts'], change: Change): void {
  if (change.kind !== 'attempt ended') return;
  const { event, ending, ranMs } = change;
  if (ranMs !== null) counts.countMs('handler-ms', ranMs, event.type);
  if (ending.counted !== null) counts.countType(ending.counted, event.type);
}
