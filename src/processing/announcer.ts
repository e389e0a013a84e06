import { randomBytes } from 'node:crypto';
import { delay, performance } from '../host/real-timers.ts';
import { namesOf } from '../host/shell-words.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { Announced, Scope } from '../inbox/work.ts';
import { rerunOfferedSince, seenSince, wasSeenAfter } from '../inbox/rules/processors.ts';
import type { Logger } from '../host/logger.ts';
import type { Clock } from '../host/clock.ts';
import { createPresence } from './presence.ts';
import { unhandledLog } from './unhandled-log.ts';

/** Announces that a processor is running, and puts away events that wait in vain. */
export interface Announcer {
  /** Resolves when others know. The function it resolves with looks through the events that wait, which may take long. */
  announce(): Promise<() => Promise<void>>;
  /**
   * After a sleep, or a clock that was set forward, it looks gone to whoever asks, until it is announced again. Nothing is
   * put away for that, and it does not count in what tells others to be gone: no time may have passed.
   */
  showAgain(): Promise<void>;
  /** Says in the log what was put away before this processor came. */
  tellWhatWasPutAway(): Promise<void>;
  /** A processor that was seen since then counts as running. */
  handledSince(now: number): number;
  /** This processor ends. Others hear of it by themselves, if that cannot be said. */
  leave(): Promise<void>;
}

/** After each step the writer is left alone for so many times as long. */
const REST = 3;

export function createAnnouncer({
  inbox,
  scope,
  clock,
  logger,
  isOpen,
}: {
  readonly inbox: Inbox;
  readonly scope: Scope;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isOpen: () => boolean;
}): Announcer {
  const presence = createPresence();
  const log = unhandledLog(logger);
  const name = `${process.pid}-${randomBytes(4).toString('hex')}`;
  let startedAt: number | null = null;
  /** what the clock showed when it was announced last */
  let shownAt: number | null = null;
  let announcing: Promise<unknown> = Promise.resolve();
  let hasLeft = false;

  /** Step by step, so that deliveries and claims come in between, however much waits. */
  async function sweep(first: Announced, ignoreBefore: number | null): Promise<Announced['ignored']> {
    const counts = new Map<string, Announced['ignored'][number]>();
    for (let step = first; ;) {
      for (const { endpoint, type, count } of step.ignored) {
        const key = JSON.stringify([endpoint, type]);
        counts.set(key, { endpoint, type, count: count + (counts.get(key)?.count ?? 0) });
      }
      if (!step.more || !isOpen()) return [...counts.values()];
      const from = performance.now();
      step = await inbox.announce(scope, clock.now(), ignoreBefore);
      if (step.more) await delay(REST * (performance.now() - from), undefined, { ref: false });
    }
  }

  async function announceAt(now: number, ignoreBefore: number | null): Promise<Announced> {
    startedAt ??= now;
    const announced = inbox.announce(scope, now, ignoreBefore, hasLeft ? undefined : { name, startedAt });
    announcing = Promise.allSettled([announcing, announced]);
    const first = await announced;
    shownAt = now;
    return first;
  }

  return {
    handledSince: (now) => presence.handledSince(now),
    async announce() {
      const now = clock.now();
      // A processor without handlers may be a mistake, so it puts nothing away.
      const ignoreBefore = scope.types.length === 0 ? null : presence.ignoreBefore(now);
      const first = await announceAt(now, ignoreBefore);
      presence.announced(now);
      return async () => {
        log.ignored(await sweep(first, ignoreBefore));
        if (ignoreBefore === null || !isOpen()) return;
        const then = clock.now();
        log.waiting(await inbox.unhandled(then, presence.handledSince(then)));
      };
    },
    async showAgain() {
      const now = clock.now();
      if (shownAt !== null && !wasSeenAfter(shownAt, seenSince(now))) await announceAt(now, null);
    },
    async leave() {
      hasLeft = true;
      // One that is under way would announce it again.
      await announcing;
      if (startedAt === null) return;
      try {
        await inbox.leave(name);
      } catch {
        // The inbox cannot be reached. Silence says the same ten minutes later.
      }
    },
    async tellWhatWasPutAway() {
      if (scope.types.length === 0) return;
      const now = clock.now();
      const since = rerunOfferedSince(now);
      log.putAway(await inbox.ignoredSince(scope, since, now), scope, new Date(since), namesOf(inbox));
    },
  };
}
