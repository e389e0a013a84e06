import { messageOf } from '../errors.ts';
import type { Logger } from '../host/logger.ts';
import { namesOf } from '../host/shell-words.ts';
import type { Inbox } from '../inbox/contract.ts';
import { COMMITTED_BY_ITSELF } from '../inbox/rules/attempt.ts';
import type { AttemptError, CrashedEvent } from '../inbox/work.ts';
import { oneLine } from '../printable.ts';
import type { AttemptEnd, AttemptFacts, EndedAttempt } from './attempt-end.ts';
import { eventCommand } from './event-command.ts';
import { loggedError } from './logged-error.ts';

/** What the lines about attempts say. */
const SAID = {
  processed: 'event processed',
  skipped: 'event skipped by its handler',
  failed: 'handler failed and will be retried; for details, run the command in this log entry',
  later: 'handler requested a later retry; for details, run the command in this log entry',
  failedInline: 'handler failed; the next delivery of the event runs the handler again',
  dead: 'event is dead; to see why, run the command in this log entry',
  lost: 'the lease expired before the handler ended; the handler will run again',
  lostInline: 'the lease expired before the handler ended; the next delivery of the event runs the handler again',
  failedLate: 'handler failed after its transaction was committed, so the handler does not run again',
  withoutFile: 'ctx.transaction is not available now; the handler will run again, and this attempt does not count',
  spoiled: COMMITTED_BY_ITSELF,
  outlived:
    'handler was still running after close() aborted ctx.signal; it will run again. Make the handler stop when ' +
    'ctx.signal aborts, or raise processing.closeMs',
  killed:
    'a process was killed before close() finished; the handler will run again, and the attempt does not count. Set ' +
    'processing.closeMs below the shutdown timeout of your platform, or raise that timeout',
} as const;

const LINES: ReadonlySet<string> = new Set(Object.values(SAID));

/** Whether a line of the log is one of hookbox's own about an attempt, and not what a handler has logged. */
export function isAboutAttempt(message: string): boolean {
  return LINES.has(message);
}

export interface AttemptLogOptions {
  readonly logger: Logger;
  readonly inbox: Pick<Inbox, 'file'>;
  /** `false` keeps the message and the stack of what handlers throw out of the log */
  readonly logErrors: boolean;
  /** handlers run before the answer, and again when the service sends again */
  readonly inline?: boolean;
}

/** Says in the log how attempts ended, and why. */
export interface AttemptLog {
  /** whether what handlers throw may be told in full */
  readonly logErrors: boolean;
  /** It has ended so, and that is written. */
  ended(attempt: EndedAttempt, end: AttemptEnd): void;
  /** Its handler threw after its transaction was committed. */
  failedLate(attempt: EndedAttempt, error: AttemptError): void;
  /** It does not count, as its transaction could not be had. */
  withoutFile(attempt: EndedAttempt, thrown: unknown): void;
  /** It ran on when `close` gave its event back. */
  outlived(attempt: EndedAttempt): void;
  /** What a claim has found: of these it tells those that were interrupted. */
  found(crashed: readonly CrashedEvent[]): void;
}

export function attemptLog({ logger, inbox, logErrors, inline = false }: AttemptLogOptions): AttemptLog {
  /** Its name, and where it is looked up; the rest too, unless the application keeps it out. */
  const why = ({ endpoint, id }: AttemptFacts, error: AttemptError) => ({
    error: oneLine(error.name),
    command: `npx ${eventCommand('show', { endpoint, id }, namesOf(inbox))}`,
    ...(logErrors && { err: loggedError(error) }),
  });

  return {
    logErrors,
    ended(attempt, end) {
      switch (end.outcome) {
        case 'processed':
        case 'committed':
          if (end.outcome === 'processed' && end.skipped !== undefined) {
            logger.info({ ...attempt, ...(logErrors && { reason: end.skipped }) }, SAID.skipped);
          } else {
            logger.info({ ...attempt }, SAID.processed);
          }
          return;
        case 'retry':
        case 'dead':
          // What fits no schema is not run again by itself, wherever it is handled.
          if (inline && !(end.outcome === 'dead' && end.reason === 'invalid')) {
            logger.warn({ ...attempt, ...why(attempt, end.error) }, SAID.failedInline);
          } else if (end.outcome === 'dead') {
            logger.error({ ...attempt, reason: end.reason, ...why(attempt, end.error) }, SAID.dead);
          } else {
            const dueAt = new Date(end.dueAt).toISOString();
            // A wait that its handler has asked for says nothing by where it was thrown.
            const isPlanned = end.error.name === 'RetryLaterError';
            const error = isPlanned ? { ...end.error, stack: null } : end.error;
            logger.warn({ ...attempt, dueAt, ...why(attempt, error) }, isPlanned ? SAID.later : SAID.failed);
          }
          return;
        case 'lost':
          logger.warn({ ...attempt }, inline ? SAID.lostInline : SAID.lost);
          return;
        case 'committed alone':
          logger.error({ ...attempt }, SAID.spoiled);
          return;
        case 'interrupted':
      }
    },
    failedLate: (attempt, error) => logger.error({ ...attempt, ...why(attempt, error) }, SAID.failedLate),
    withoutFile: (attempt, thrown) => logger.error({ ...attempt, cause: messageOf(thrown) }, SAID.withoutFile),
    outlived: (attempt) => logger.warn({ ...attempt }, SAID.outlived),
    found(crashed) {
      for (const { endpoint, id, type, attempt, wasClosing } of crashed) {
        if (wasClosing !== true) continue;
        const facts = { endpoint, id, type: type === null ? null : oneLine(type), attempt };
        logger.warn(facts, SAID.killed);
      }
    },
  };
}
