import { randomBytes } from 'node:crypto';
import type { EventSchemas } from '../events/own-events.ts';
import { systemClock, type Clock } from '../host/clock.ts';
import type { Logger } from '../host/logger.ts';
import { tracingBy, type OpenTelemetryApi } from '../host/tracing.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { ClaimedEvent, CrashedEvent, Superseded } from '../inbox/work.ts';
import { attemptEnding } from './attempt-ending.ts';
import { attemptHooks, type AttemptHooks } from './attempt-hooks.ts';
import { attemptLog } from './attempt-log.ts';
import { LeaseGrace, leaseRenewal } from './leases.ts';
import type { Handlers } from './handlers.ts';
import { AGAIN_MS, limitsOf, type ProcessingOptions } from './limits.ts';
import { runAttempt, type LoggedAttempt } from './run-attempt.ts';
import { Timers } from './timers.ts';

export interface HandlingOptions extends AttemptHooks {
  readonly inbox: Inbox;
  readonly handlers: Handlers;
  readonly events?: EventSchemas;
  readonly processing?: ProcessingOptions;
  readonly logger: Logger;
  readonly logErrors?: boolean;
  readonly openTelemetry?: OpenTelemetryApi;
  readonly clock?: Clock;
}

/** The service's schedule is the retry. */
const NO_RETRY = { attempts: Infinity, baseMs: 0, maxMs: 0 };

/** The shared part of processors and inline mode: runs attempts, keeps their leases, and reports their results. */
export function attemptsOf(
  options: HandlingOptions,
  inline: boolean,
  report: (what: string, failure: unknown) => void,
) {
  const { inbox, handlers, events = {}, logger, logErrors = true, clock = systemClock } = options;
  const limits = limitsOf(options);
  const { leaseMs, closeMs, byType } = limits;
  const log = attemptLog({ logger, inbox, logErrors, inline });
  const hooks = attemptHooks({ ...options, logErrors, inline });
  const processor = `${process.pid}-${randomBytes(4).toString('hex')}`;
  const tracing = tracingBy(options.openTelemetry);
  const timers = new Timers(clock);
  const grace = new LeaseGrace({ leaseMs, lookMs: AGAIN_MS, now: clock.now() });
  const ofType = inline ? { of: (type: string) => ({ ...byType.of(type), retry: NO_RETRY }) } : byType;
  /** Others may also have been unable to renew their leases. */
  const failed = (what: string, failure: unknown): void => {
    grace.failed(clock.now());
    report(what, failure);
  };
  const leases = leaseRenewal({ inbox, clock, timers, grace, leaseMs, failed });
  return {
    processor,
    clock,
    limits,
    timers,
    grace,
    leases,
    ending: attemptEnding({ inbox, clock, timers, grace, leases, closeMs, failed, tell: [log, hooks] }),
    hookCalls: hooks.calls,
    failed,
    superseded: (found: readonly Superseded[]): void => {
      for (const each of found) tracing?.superseded(each);
    },
    crashed: (found: readonly CrashedEvent[]): void => {
      log.found(found);
      hooks.crashed(found);
    },
    run: (claimed: ClaimedEvent): LoggedAttempt =>
      runAttempt(claimed, { processor, inbox, handlers, events, logger, log, clock, tracing, inline, limits: ofType }),
  };
}
