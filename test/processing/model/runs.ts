import type { HandlerContext } from '../../../src/processing/handlers.ts';
import { InboxUnavailableError, PermanentError, RetryLaterError } from '../../../src/index.ts';
import type { Settlement } from '../../../src/inbox/work.ts';
import { nameOf, type ModelEvent } from './model-event.ts';
import type { Life } from './life.ts';
import { must } from './violation.ts';

export interface Run {
  readonly name: string;
  readonly life: Life;
  readonly context: HandlerContext;
  /** how it ended by itself, and whether its signal was aborted by then */
  end: {
    readonly how: 'returned' | 'threw' | 'threw for good' | 'paused its type';
    readonly stopped: 'closing' | 'timeout' | null;
  } | null;
  /** a transaction of its was tried and not committed */
  uncommitted: boolean;
  /** because the inbox could not be reached, before its function had begun */
  withoutFile: boolean;
  doesWithout: boolean;
}

const FAILURES_TO_DIE = 3;

export class Runs {
  readonly #active = new Set<Run>();
  /** by event and number of the attempt: the first claim may begin last */
  readonly #all = new Map<string, Run>();

  async during(name: string, life: Life, context: HandlerContext, perform: (run: Run) => Promise<void>): Promise<void> {
    const run: Run = { name, life, context, end: null, uncommitted: false, withoutFile: false, doesWithout: false };
    this.#active.add(run);
    this.#all.set(`${name} ${context.attempt}`, run);
    const ended = (how: NonNullable<Run['end']>['how']): void => {
      run.end = { how, stopped: stoppedBy(context.signal) };
      this.#active.delete(run);
    };
    try {
      await perform(run);
      ended('returned');
    } catch (failure) {
      if (failure instanceof RetryLaterError) ended('paused its type');
      else ended(failure instanceof PermanentError ? 'threw for good' : 'threw');
      throw failure;
    }
  }

  *active(): Iterable<Run> {
    for (const run of this.#active) if (!run.life.dead && !run.life.frozen) yield run;
  }

  /** @param hasBegun - its function has begun, so any failure counts */
  notCommitted(event: ModelEvent, failure: unknown, hasBegun: boolean): void {
    const run = this.#of(event);
    if (run === undefined) return;
    run.uncommitted = true;
    run.withoutFile = failure instanceof InboxUnavailableError && !hasBegun;
  }

  /** A processor says how the present attempt of an event ended. */
  settled(event: ModelEvent, settlement: Settlement, { closing }: Life): void {
    const run = this.#of(event);
    const is = settlement.outcome;
    const say = () => `attempt ${event.attempts.length + 1} of ${nameOf(event)} became ${is}: ${told(run, closing)}`;
    must(
      allowed(run, closing, event.failures + 1 >= FAILURES_TO_DIE).includes(is),
      'an attempt ends as its run did',
      say,
    );
    if (is !== 'retry') return;
    const isPausing = settlement.isUncounted === true && settlement.pauseUntil !== undefined;
    must(
      isPausing === (run?.end?.how === 'paused its type' && run.end.stopped === null),
      'an attempt ends as its run did',
      say,
    );
  }

  /** A processor lets go of an event whose transaction has committed: its handler has ended, or was told to. */
  letGo(event: ModelEvent): void {
    const run = this.#all.get(`${event.name} ${event.attempts.length}`);
    const isOver = run === undefined || run.end !== null || run.context.signal.aborted;
    must(isOver, 'an attempt ends as its run did', () => `${event.name} was let go while its handler runs`);
  }

  #of(event: ModelEvent): Run | undefined {
    return this.#all.get(`${event.name} ${event.attempts.length + 1}`);
  }
}

function allowed(run: Run | undefined, closing: boolean, last: boolean): readonly Settlement['outcome'][] {
  if (run === undefined) return closing ? ['interrupted', 'dead'] : ['dead'];
  const failed = last ? 'dead' : 'retry';
  const { end } = run;
  // A handler that ignores its signal is abandoned, and a transaction may outlive its handler.
  const stopped = end === null || run.uncommitted ? stoppedBy(run.context.signal) : end.stopped;
  if (stopped === 'closing') return ['interrupted'];
  if (end === null || stopped === 'timeout') return [failed];
  if (end.how === 'threw for good') return ['dead'];
  if (end.how === 'paused its type') return ['retry'];
  // A failed transaction counts even if the handler did not await it.
  const hasFailed = end.how === 'threw' || (run.uncommitted && !run.doesWithout);
  if (hasFailed && run.withoutFile) return ['interrupted'];
  return [hasFailed ? failed : 'processed'];
}

function stoppedBy({ aborted, reason }: AbortSignal): 'closing' | 'timeout' | null {
  if (!aborted) return null;
  return (reason as DOMException).name === 'TimeoutError' ? 'timeout' : 'closing';
}

function told(run: Run | undefined, closing: boolean): string {
  const how = run === undefined ? 'no run' : JSON.stringify({ end: run.end, uncommitted: run.uncommitted });
  return `${how}, closing: ${closing}`;
}
