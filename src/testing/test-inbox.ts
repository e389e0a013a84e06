import { type DefaultDatabase, EVERYTHING } from '../inbox/work.ts';
import { assertInbox, type Inbox } from '../inbox/contract.ts';
import type { StoredEvent } from '../inbox/event.ts';
import { memoryInbox } from '../inbox/memory/memory-inbox.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { SteppingClock, type TestClock } from './test-clock.ts';
import { watchedInbox } from './watched-inbox.ts';

/** The options of {@link testInbox}. */
export interface TestInboxOptions<Database = DefaultDatabase> {
  /**
   * The start time: a date, or milliseconds since 1970.
   *
   * @defaultValue the current time
   */
  readonly now?: Date | number | string;
  /**
   * The inbox that stores events. If handlers call `ctx.transaction`, use `sqliteInbox({ database }, { ephemeral: true
   * })` with a database in memory, or a `postgresInbox`.
   *
   * @defaultValue an inbox in memory
   */
  readonly inbox?: Inbox<Database>;
}

/** An inbox with its own clock. */
export interface TestInbox<Database = DefaultDatabase> {
  readonly inbox: Inbox<Database>;
  readonly clock: TestClock;
  /**
   * Advances the clock until no work is left and all retries are done. Resolves with all events: processed, dead or
   * ignored.
   *
   * @param options - `withinMs`: the maximum time on the clock, in milliseconds; two days by default
   * @throws an Error that names the remaining work, if the time is not enough
   */
  readonly handledAll: (options?: { readonly withinMs?: number }) => Promise<readonly StoredEvent[]>;
}

const OPTIONS: KnownOptions<TestInboxOptions> = { now: true, inbox: true };

const TWO_DAYS_MS = 48 * 60 * 60_000;
const PATIENCE_MS = 1_000;
const PAGE = 1_000;
const SHOWN = 5;

/**
 * Creates an inbox whose clock your test controls. Hours of retries then take only as long as the handlers run. Pass
 * `inbox` and `clock` to `createReceiver` or `createProcessor`, and start the receiver or processor.
 *
 * @throws TypeError for an invalid `now`
 * @throws ConfigurationError `INVALID_OPTION` for an unknown option
 * @example
 * ```ts
 * import { createReceiver } from 'hookbox';
 * import { buildEvent, deliverTo, testInbox } from 'hookbox/testing';
 *
 * const secret = 'a signing secret';
 * const { inbox, clock, handledAll } = testInbox({ now: '2026-01-01T00:00:00Z' });
 * const openFrom = clock.now() + 60 * 60_000;
 * const receiver = createReceiver({
 *   secret,
 *   inbox,
 *   clock,
 *   handlers: {
 *     'order.created': () => {
 *       if (clock.now() < openFrom) throw new Error('the shop is closed');
 *     },
 *   },
 *   logger: false,
 * });
 * await receiver.start();
 * await deliverTo(receiver, buildEvent('order.created'), { secret });
 *
 * const [event] = await handledAll();
 * if (event?.state !== 'processed') throw new Error('it was given up');
 * console.log('handled after', (clock.now() - event.receivedAt.getTime()) / 60_000, 'minutes');
 * await receiver.close();
 * ```
 */
export function testInbox<Database = DefaultDatabase>(options?: TestInboxOptions<Database>): TestInbox<Database>;
export function testInbox(options: TestInboxOptions = {}): TestInbox {
  assertOptions('testInbox', options, OPTIONS);
  const { now = Date.now(), inbox: kept } = options;
  if (kept !== undefined) assertInbox('testInbox', kept, 'accept');
  const startsAt = new Date(now).getTime();
  if (Number.isNaN(startsAt)) throw new TypeError(`now must be a Date or milliseconds since 1970, not ${String(now)}.`);
  const { inbox, rest, isRunning } = watchedInbox(kept ?? memoryInbox({ ephemeral: true }), PATIENCE_MS);
  const clock = new SteppingClock(startsAt, rest);

  return {
    inbox,
    clock,
    async handledAll(within = {}) {
      assertOptions('handledAll', within, { withinMs: true });
      const { withinMs = TWO_DAYS_MS } = within;
      const until = clock.now() + withinMs;
      for (;;) {
        await rest();
        const due = await inbox.nextDue(EVERYTHING);
        if (due === null) return allOf(inbox);
        // A processor looks for events every second, which on a disk costs more than the handlers of a test.
        if (!isRunning()) clock.skipTo(Math.min(due, until));
        if (!(await clock.step(until))) throw new Error(leftOver(await allOf(inbox), withinMs, clock.isWaitedFor));
      }
    },
  };
}

async function allOf(inbox: Inbox): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (;;) {
    const page = await inbox.list({ after: events.at(-1)?.seq ?? 0, limit: PAGE });
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}

function leftOver(events: readonly StoredEvent[], withinMs: number, isWaitedFor: boolean): string {
  const left = events.filter(({ state }) => state === 'pending' || state === 'processing');
  const names = left.slice(0, SHOWN).map(({ id, type, state }) => `${id} (${type}, ${state})`);
  const more = left.length > SHOWN ? ` and ${left.length - SHOWN} more` : '';
  const what = `Not handled: ${names.join(', ')}${more}.`;
  if (isWaitedFor) return `${what} ${withinMs} ms passed on the test clock. Raise withinMs, or look at inbox.attempts.`;
  return (
    `${what} Nothing uses the test clock: pass clock and inbox of testInbox to createReceiver or createProcessor, ` +
    'and await start(). In inline mode, deliver the event again to run its handler again.'
  );
}
