import { TransactionError } from '../../errors.ts';
import { isFarAhead } from '../../events/instant.ts';
import type { DeadReason, EventKey, EventState } from '../event.ts';
import type {
  Attempt,
  AttemptError,
  CrashedEvent,
  Lease,
  LogLine,
  Settled,
  Settlement,
  TransactionAttempt,
} from '../work.ts';
import type { Budget } from './budget.ts';
import type { Counting } from './counted.ts';
import { eventsToUnpark, nextAfter } from './entity-order.ts';
import { breakerReport, type NewsOfBreakers } from './breakers.ts';
import { pauseRequest } from './pauses.ts';
import { fingerprintOf } from './error-groups.ts';
import type { AttemptOutcome, Change, Ending, HeldEvent, NextInQueue, RunningEvent } from './store.ts';

/**
 * Ends an attempt, or only the lease if `ctx.transaction` ended the attempt.
 *
 * @param event - `undefined` if the lease is lost
 * @param before - the end of the attempt, if an earlier call may have ended it without a response
 */
export function planSettle(
  lease: Lease,
  event: HeldEvent | undefined,
  settlement: Settlement,
  now: number,
  before?: AttemptOutcome,
): { readonly result: Settled; readonly changes: readonly Change[] } {
  if (settlement.outcome === 'committed') {
    const { error, ...more } = settlement;
    const late: readonly Change[] = error === undefined ? [] : [{ kind: 'late error', lease, error, ...saidIn(more) }];
    if (event?.isProcessed !== true) return { result: false, changes: late };
    return { result: true, changes: [...late, ...endLease(event), ...reported(event, settlement, now)] };
  }
  const ending = endingOf(settlement, now);
  if (!isRunning(event)) {
    return { result: before === 'committed alone' ? before : before === ending.outcome, changes: [] };
  }
  const ranMs = settlement.outcome === 'interrupted' ? null : now - event.claimedAt;
  const { changes } = endAttempt(event, ending, now, { ranMs });
  const pause = pauseRequest(event, settlement, now);
  const paused: readonly Change[] = pause === null ? [] : [{ kind: 'type paused', requested: pause }];
  return {
    result: event.hasEffect ? 'committed alone' : true,
    changes: [...changes, ...reported(event, settlement, now), ...paused],
  };
}

export function withNews(result: Settled, changes: readonly Change[], news: NewsOfBreakers): Settled {
  if (result !== true || news.size === 0) return result;
  const reports = changes.flatMap((change) =>
    change.kind === 'attempt reported' ? (news.get(change.report) ?? []) : [],
  );
  return reports[0] ?? result;
}

function reported(event: HeldEvent, settlement: Settlement, now: number): readonly Change[] {
  const failed = settlement.outcome === 'retry' || settlement.outcome === 'dead' ? settlement.error.name : null;
  const report = breakerReport(event, settlement.breaker, failed, now);
  return report === null ? [] : [{ kind: 'attempt reported', report }];
}

/**
 * The last step of `ctx.transaction`. The lease stays until the handler ends or the lease expires, so no other event of
 * the entity is claimed before then. `null` if the lease is lost.
 */
export function planProcessed(
  event: HeldEvent | undefined,
  settlement: Extract<Settlement, { readonly outcome: 'processed' }>,
  now: number,
): readonly Change[] | null {
  if (!isRunning(event)) return null;
  return [ended(event, endingOf(settlement, now), now, { ranMs: now - event.claimedAt, keepsLease: true })];
}

/** Whether the handler is running under its lease, even if the lease has expired. */
export function isRunning(event: HeldEvent | undefined): event is HeldEvent {
  return event !== undefined && !event.isProcessed;
}

export function endLease({ seq, next }: HeldEvent, budget?: Budget): readonly Change[] {
  return [{ kind: 'lease ended', seq }, ...unpark(next, budget)];
}

/** An event whose handler ran COMMIT itself must not run again, so it becomes dead in any case. */
export function endAttempt(
  event: HeldEvent,
  wanted: Ending,
  now: number,
  { ranMs = null, foundBy, budget }: { readonly ranMs?: number | null; readonly foundBy?: number; budget?: Budget },
): { readonly ending: Ending; readonly changes: readonly Change[] } {
  const ending = event.hasEffect ? { ...endingOf(COMMITTED_ALONE, now), ...factsIn(wanted) } : wanted;
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

export function countChange(counts: Counting['counts'], change: Change): void {
  if (change.kind === 'superseded') {
    for (const _ of change.seqs) {
      counts.countType('processed', change.by.type);
      counts.countType('superseded', change.by.type);
    }
  }
  if (change.kind !== 'attempt ended') return;
  const { event, ending, ranMs } = change;
  if (ranMs !== null) counts.countMs('handler-ms', ranMs, event.type);
  if (ending.counted !== null) counts.countType(ending.counted, event.type);
}

type Facts = Pick<Attempt, 'log' | 'limit' | 'processor'>;

export type EndOfAttempt = Exclude<Settlement, { readonly outcome: 'committed' }>;

const PROCESSED: Ending = Object.freeze({
  state: 'processed',
  outcome: 'processed',
  error: null,
  failed: 0,
  crashed: 0,
  counted: 'processed',
});

export function endingOf(settlement: EndOfAttempt, now: number): Ending {
  return { ...endingWithoutFacts(settlement, now), ...factsIn(settlement) };
}

function factsIn({ log, limit, processor }: Facts): Facts {
  return { ...saidIn({ log }), ...(limit !== undefined && { limit }), ...(processor !== undefined && { processor }) };
}

function saidIn({ log }: { readonly log?: Attempt['log'] | undefined }): Pick<Attempt, 'log'> {
  return log === undefined ? {} : { log };
}

function endingWithoutFacts(settlement: EndOfAttempt, now: number): Ending {
  switch (settlement.outcome) {
    case 'processed':
      return settlement.skipped === undefined ? PROCESSED : { ...PROCESSED, skipped: settlement.skipped };
    case 'retry': {
      const { error, dueAt, yields = false, isUncounted = false } = settlement;
      const failed = isUncounted ? 0 : 1;
      return { state: 'pending', dueAt, yields, outcome: 'failed', error, failed, crashed: 0, counted: 'failed' };
    }
    case 'dead': {
      const { error, reason } = settlement;
      const dead = { state: 'dead', deadReason: reason, fingerprint: fingerprintOf(error) } as const;
      return { ...dead, outcome: 'failed', error, failed: 1, crashed: 0, counted: 'dead' };
    }
    case 'interrupted': {
      const { outcome, dueAt = now } = settlement;
      return { state: 'pending', dueAt, outcome, error: null, failed: 0, crashed: 0, counted: null };
    }
  }
}

export function withTimes(settlement: Settlement, toTime: (ms: number) => number): Settlement {
  const { dueAt, pauseUntil } = settlement as { readonly dueAt?: number; readonly pauseUntil?: number };
  return {
    ...settlement,
    ...(dueAt !== undefined && { dueAt: toTime(dueAt) }),
    ...(pauseUntil !== undefined && { pauseUntil: toTime(pauseUntil) }),
  };
}

export const MAX_CRASHES = 3;

export function crashEnding(crashesBefore: number, now: number): Ending {
  const crash = { outcome: 'crashed', error: null, failed: 0, crashed: 1 } as const;
  if (crashesBefore + 1 < MAX_CRASHES) return { ...crash, state: 'pending', dueAt: now, counted: 'failed' };
  // Crashed events have no fingerprint: they are one group.
  return { ...crash, state: 'dead', deadReason: 'crashed', fingerprint: null, counted: 'dead' };
}

export interface FoundCrash {
  readonly type: string | null;
  readonly attempt: number;
  readonly outcome: Attempt['outcome'];
  readonly ended_ms: number;
  readonly error_name: string | null;
  readonly error_message: string | null;
  readonly error_stack: string | null;
  readonly due_ms: number | null;
  /** of its event; `null` if other attempts have begun since */
  readonly state: EventState | null;
  readonly dead_reason: DeadReason | null;
}

export function foundCrash(row: FoundCrash & EventKey): CrashedEvent {
  const { endpoint, id, type, attempt, error_name: name, error_message, error_stack: stack } = row;
  const deadReason = row.state === 'dead' ? row.dead_reason : null;
  return {
    endpoint,
    id,
    type,
    attempt,
    deadReason,
    dueAt: deadReason === null ? ((row.state === 'pending' ? row.due_ms : null) ?? row.ended_ms) : null,
    error: name === null ? null : { name, message: error_message ?? '', stack },
    ...(row.outcome === 'interrupted' && { wasClosing: true }),
  };
}

export const COMMITTED_BY_ITSELF =
  'The function in ctx.transaction ran COMMIT itself. The writes before COMMIT are committed, so the event is dead ' +
  'and is not retried. Leave COMMIT to hookbox. Before you rerun the event, check which writes were committed.';

export const COMMITTED_ALONE: Extract<Settlement, { readonly outcome: 'dead' }> = {
  outcome: 'dead',
  reason: 'failed',
  error: { name: 'TransactionError', message: COMMITTED_BY_ITSELF, stack: null },
};

export function isCommittedAlone(message: string | null): boolean {
  return message === COMMITTED_BY_ITSELF;
}

export function leaseLost(): TransactionError {
  return new TransactionError('LEASE_LOST', 'The attempt lost its lease on this event. Nothing was committed.');
}

export function processedBy({
  skipped,
  log,
  ...ran
}: Pick<TransactionAttempt, 'skipped' | 'log' | 'limit' | 'processor'>): Extract<
  Settlement,
  { readonly outcome: 'processed' }
> {
  const [reason, lines = []] = [skipped?.(), log?.()];
  return {
    outcome: 'processed',
    ...ran,
    ...(reason !== undefined && { skipped: reason }),
    ...(lines.length > 0 && { log: lines }),
  };
}

/**
 * @param failuresBefore - since the event was stored or rerun
 * @param failure - `afterMs`: the least wait that the handler asks for; `yields`: newer events of its entity need not
 * wait; `isUncounted`: it uses up no attempt; `pausesType`: its type waits `afterMs` too
 */
export function settlementOfFailure(
  failuresBefore: number,
  {
    error,
    isPermanent,
    afterMs = 0,
    yields = false,
    isUncounted = false,
    pausesType = false,
  }: {
    readonly error: AttemptError;
    readonly isPermanent: boolean;
    readonly afterMs?: number;
    readonly yields?: boolean;
    readonly isUncounted?: boolean;
    readonly pausesType?: boolean;
  },
  retry: Required<RetryOptions>,
  now: number,
  random?: () => number,
): EndOfAttempt {
  const failures = failuresBefore + 1;
  const pause = pausesType && { pauseUntil: now + afterMs };
  if (isPermanent || (!isUncounted && failures >= retry.attempts)) {
    return { outcome: 'dead', reason: 'failed', error, ...pause };
  }
  // At least the usual wait: a handler that asks for one second each time must not use up its attempts.
  const dueAt = now + Math.max(afterMs, backoffMs(failures, retry, random));
  return { outcome: 'retry', error, dueAt, ...(yields && { yields }), ...(isUncounted && { isUncounted }), ...pause };
}

/**
 * An attempt that got no transaction because the database file was unavailable does not count. The wait grows with the
 * number of attempts.
 */
export function settlementWithoutFile(
  attempts: number,
  retry: Required<RetryOptions>,
  now: number,
  random?: () => number,
): EndOfAttempt {
  return { outcome: 'interrupted', dueAt: now + backoffMs(attempts, retry, random) };
}

/** The schedule of attempts. */
export interface RetryOptions {
  /**
   * How many attempts an event gets before it becomes dead.
   *
   * @defaultValue 20
   */
  readonly attempts?: number;
  /**
   * The longest wait before the second attempt, in milliseconds. This limit doubles with each failure.
   *
   * @defaultValue 1,000
   */
  readonly baseMs?: number;
  /**
   * The longest wait before any attempt, in milliseconds.
   *
   * @defaultValue 3,600,000 (one hour)
   */
  readonly maxMs?: number;
}

/** Twenty attempts take eight hours at most, and four on average. */
export const DEFAULT_RETRY: Required<RetryOptions> = { attempts: 20, baseMs: 1_000, maxMs: 3_600_000 };

/**
 * Exponential backoff with full jitter, so that events that failed together do not retry together.
 *
 * @param failures - including this one
 */
export function backoffMs(
  failures: number,
  { baseMs, maxMs }: Required<RetryOptions>,
  random: () => number = Math.random,
): number {
  // 2 ** 1024 is Infinity, and Infinity times 0 is NaN.
  return Math.round(random() * Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 100)));
}

export const ERROR_CHARACTERS = { name: 100, message: 2_000, stack: 8_000, skipped: 500 } as const;

/** All stored lines of an attempt have at most this many bytes as JSON. */
export const LOG_LIMITS = { lines: 50, bytes: 8_192, characters: 500 } as const;

export function logColumn(log: readonly LogLine[] | undefined): string | null {
  return log === undefined ? null : JSON.stringify(log);
}

/** The columns of an attempt that only some have. */
export interface AttemptFactColumns {
  readonly skipped: string | null;
  /** JSON */
  readonly log: string | null;
  readonly attempt_limit: number | null;
  readonly processor: string | null;
}

export function factsOfAttempt({
  skipped,
  log,
  attempt_limit: limit,
  processor,
}: AttemptFactColumns): Pick<Attempt, 'skipped' | 'log' | 'limit' | 'processor'> {
  return {
    ...(skipped !== null && { skipped }),
    ...(log !== null && { log: JSON.parse(log) as readonly LogLine[] }),
    ...(limit !== null && { limit }),
    ...(processor !== null && { processor }),
  };
}
