import { boundToHere, ownContext } from '../host/own-context.ts';
import { performance } from '../host/real-timers.ts';
import { askToWait, LATE, withinDeadline, type Deadline, type HostLimits } from '../host/host-limits.ts';
import { failureLog } from '../host/logger.ts';
import type { EventKey } from '../inbox/event.ts';
import type { ClaimedEvent } from '../inbox/work.ts';
import type { AttemptResult } from './attempt-log.ts';
import { attemptsOf, type HandlingOptions } from './attempts.ts';
import type { LoggedAttempt } from './run-attempt.ts';

/** `late`, `closing`: the handler did not begin in time. */
export type InlineResult = 'processed' | 'failed' | 'busy' | 'timeout' | 'late' | 'closing' | 'lost' | 'nothing to run';

export interface Afterwards {
  readonly waitUntil?: HostLimits['waitUntil'];
  /** the host stops with the response, so no work can continue after it */
  readonly frozen?: boolean;
}

/** Within the time that adapters reserve for the response. */
const FROZEN_LIMIT_MS = 200;

/**
 * Handles an event once per delivery, because the service's schedule is the retry. A handler that outlives the deadline
 * keeps its lease. If the host would freeze it, the event is released.
 */
export function createInlineRunner(options: HandlingOptions & { readonly ordering: boolean }) {
  const { inbox, ordering, logger } = options;
  const logFailure = failureLog(logger);
  const { clock, limits, timers, grace, leases, ending, hookCalls, ...attempts } = attemptsOf(
    options,
    true,
    logFailure,
  );
  const { leaseMs, types, named } = limits;
  const { rates, probes } = limits.byType;
  /** deliveries whose handler is running or about to run */
  const runs = new Set<Promise<InlineResult>>();
  let isClosing = false;
  const inOwnContext = ownContext();
  const crashed = boundToHere(attempts.crashed);
  let looked = { now: clock.now(), steady: performance.now() };

  /** The time on the steady clock since the last check was not a sleep. */
  function look(): number {
    const next = { now: clock.now(), steady: performance.now() };
    grace.wasAwake(Math.min(next.now, looked.now + Math.ceil(next.steady - looked.steady)));
    grace.look(next.now);
    looked = next;
    return next.now;
  }

  async function claim(key: EventKey): Promise<ClaimedEvent | 'busy' | 'settled'> {
    const now = look();
    const rated = rates !== undefined && { named, rates };
    const scope = { endpoints: [key.endpoint], types, ...rated, ...(probes !== undefined && { probes }) };
    const request = { ...scope, now, leaseMs, ordered: ordering, holds: leases.held() };
    try {
      const numbered = { ...request, expiredBy: grace.expiredBy(now) };
      const claimed = await inbox.claimOne(key, numbered, crashed);
      grace.claimed(now, clock.now());
      return claimed;
    } catch (failure) {
      grace.failed(clock.now());
      throw failure;
    }
  }

  function start(claimed: ClaimedEvent): { attempt: LoggedAttempt; settled: Promise<AttemptResult> } {
    const attempt = attempts.run(claimed);
    const settled = attempt.ended.then((end) => ending.write(claimed.lease, attempt, end));
    inOwnContext(() => ending.hold(claimed.lease, attempt, settled));
    return { attempt, settled };
  }

  /** Asks a host that stops with the response to wait for hooks. */
  function keepFor(waitUntil: Afterwards['waitUntil']): void {
    const pending = hookCalls.pending();
    if (pending !== null) askToWait(waitUntil, pending);
  }

  async function run(
    key: EventKey,
    deadline: Deadline,
    { waitUntil, frozen = false }: Afterwards,
  ): Promise<InlineResult> {
    const claiming = claim(key);
    const claimed = await withinDeadline(claiming, deadline);
    if (claimed === LATE) {
      logger.warn({ ...key }, 'the inbox was busy until the deadline; the next delivery of the event runs the handler');
      const late = claiming.then((claimed) => (typeof claimed === 'object' ? [claimed] : []));
      askToWait(waitUntil, ending.giveBackUnrun(late));
      return 'late';
    }
    keepFor(waitUntil);
    if (claimed === 'busy') return 'busy';
    if (claimed === 'settled') return 'nothing to run';
    if (isClosing) {
      await ending.giveBackUnrun(Promise.resolve([claimed]));
      return 'closing';
    }
    const { attempt, settled } = start(claimed);
    const result = await withinDeadline(settled, deadline);
    if (result === LATE) {
      const isFrozen = frozen && waitUntil === undefined;
      if (isFrozen) await timers.atMost(FROZEN_LIMIT_MS, ending.giveBack(claimed.lease, attempt));
      else askToWait(waitUntil, Promise.allSettled([settled]));
      return 'timeout';
    }
    keepFor(waitUntil);
    return resultOf(result);
  }

  return {
    async run(key: EventKey, deadline: Deadline, afterwards: Afterwards): Promise<InlineResult> {
      if (isClosing) return 'closing';
      const running = run(key, deadline, afterwards);
      runs.add(running);
      return running.finally(() => runs.delete(running));
    },
    /** Begins no more handlers, and ends running ones (`AttemptEnding.close`). */
    close: boundToHere(async () => {
      isClosing = true;
      await ending.close(Promise.allSettled(runs));
      await hookCalls.close();
      timers.stop();
    }),
  };
}

function resultOf(end: AttemptResult): InlineResult {
  switch (end.outcome) {
    case 'processed':
    case 'committed':
    case 'committed alone':
      return 'processed';
    case 'lost':
      return 'lost';
    case 'dead':
      // Another delivery would not help: an invalid event waits for an operator.
      return end.reason === 'invalid' ? 'nothing to run' : 'failed';
    case 'retry':
    case 'interrupted':
      return 'failed';
  }
}
