import { isEventType } from '../events/event-types.ts';
import type { Clock } from '../host/clock.ts';
import { type Logger, throttle } from '../host/logger.ts';
import { delay, performance } from '../host/real-timers.ts';
import { namesOf, type NamedInbox, inboxOptions, option } from '../host/shell-words.ts';
import type { Inbox } from '../inbox/contract.ts';
import { rerunOfferedSince, seenSince, wasSeenAfter } from '../inbox/rules/processors.ts';
import type { Announced, Scope, IgnoredType, UnhandledType } from '../inbox/work.ts';
import { oneLine } from '../printable.ts';

const REST = 3;

export function createAnnouncer({
  name,
  inbox,
  scope,
  clock,
  logger,
  isOpen,
}: {
  readonly name: string;
  readonly inbox: Inbox;
  readonly scope: Scope;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isOpen: () => boolean;
}) {
  const presence = createPresence();
  const log = unhandledLog(logger);
  let startedAt: number | null = null;
  /** the time of the last announcement */
  let shownAt: number | null = null;
  let announcing: Promise<unknown> = Promise.resolve();
  let hasLeft = false;

  /** In steps, so that deliveries and claims run in between. */
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
    handledSince: (now: number) => presence.handledSince(now),
    /** Resolves when the inbox has recorded it. The returned function checks the waiting events; that may take long. */
    async announce() {
      const now = clock.now();
      // A processor without handlers may be a mistake, so it does not ignore events.
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
    /** After a sleep, the processor seems gone. Does not ignore events, because no time may have passed. */
    async showAgain() {
      const now = clock.now();
      if (shownAt !== null && !wasSeenAfter(shownAt, seenSince(now))) await announceAt(now, null);
    },
    async leave() {
      hasLeft = true;
      // An announcement in progress would add the processor again.
      await announcing;
      if (startedAt === null) return;
      try {
        await inbox.leave(name);
      } catch {
        // The processor counts as gone ten minutes later.
      }
    },
    async tellWhatWasPutAway() {
      if (scope.types.length === 0) return;
      const now = clock.now();
      const since = rerunOfferedSince(now);
      log.alreadyIgnored(await inbox.ignoredSince(scope, since, now), scope, new Date(since), namesOf(inbox));
    },
  };
}

const HOUR_MS = 60 * 60_000;

/** A type is a text of the sender, so all unknown types are reported as one. */
function unhandledLog(logger: Logger) {
  const seldom = throttle(HOUR_MS);
  const reported = new Set<string>();
  const kindOf = (endpoint: string, type: string): string =>
    JSON.stringify([endpoint, isEventType(type) ? type : 'other']);

  return {
    ignored(ignored: Announced['ignored']): void {
      for (const { endpoint, type, count } of ignored) {
        const kind = kindOf(endpoint, type);
        if (reported.has(kind)) continue;
        reported.add(kind);
        logger.warn(
          { endpoint, type: oneLine(type), count },
          'events were ignored, because no processor has handled their type for seven days; when you have a ' +
            'handler, rerun them',
        );
      }
    },

    waiting(unhandled: readonly UnhandledType[]): void {
      for (const { endpoint, type, count, more, since } of unhandled) {
        const facts = { endpoint, type: oneLine(type), waiting: more ? `more than ${count}` : count };
        if (since === null) {
          seldom(JSON.stringify([endpoint]), () => {
            logger.warn(
              facts,
              'events are stored, but no processor handles their endpoint: start one with createProcessor({ ' +
                'endpoint }), or call start() of the receiver for this endpoint',
            );
          });
          continue;
        }
        seldom(kindOf(endpoint, type), () => {
          logger.warn(
            facts,
            `no processor has handled ${oneLine(type)} since ${since.toISOString()}: its events wait until a ` +
              'processor that handles this type runs',
          );
        });
      }
    },

    /** Ignored events stay ignored: a new handler must not write to the customers of a whole week. */
    alreadyIgnored(
      ignored: readonly IgnoredType[],
      { types }: Pick<Scope, 'types'>,
      since: Date,
      inbox: NamedInbox,
    ): void {
      for (const endpoint of new Set(ignored.map((one) => one.endpoint))) {
        const here = ignored.filter((one) => one.endpoint === endpoint && one.handled);
        if (here.length === 0) continue;
        const count = here.reduce((sum, one) => sum + one.count, 0);
        const named = types === '*' ? [] : here.map(({ type }) => type);
        const command = rerunIgnoredCommand({ endpoint, types: named, ignoredSince: since }, inbox);
        logger.warn(
          { endpoint, count: here.some(({ more }) => more) ? `more than ${count}` : count, command },
          'events that this processor can handle were ignored in the last seven days; to rerun them, run the command in this log entry',
        );
      }
    },
  };
}

export function rerunIgnoredCommand(
  { endpoint, types, ignoredSince }: { endpoint: string; types: readonly string[]; ignoredSince: Date },
  inbox: NamedInbox,
): string {
  return [
    'hookbox events rerun',
    ...inboxOptions(inbox),
    ...option('--endpoint', endpoint),
    ...types.flatMap((type) => option('--type', type)),
    ...option('--ignored-since', ignoredSince.toISOString()),
  ].join(' ');
}

/**
 * When the clock jumps forward, as after a suspension, all other processors seem to have gone. So a processor counts as
 * gone only if it was not seen since this one's announcement before last: ten minutes have really passed since then,
 * because timers do not jump. The earliest of these times counts, because the clock may have been wrong for a while.
 */
export function createPresence() {
  /** the times of the last three announcements */
  const readings: number[] = [];
  return {
    announced(now: number): void {
      readings.push(now);
      if (readings.length > 3) readings.shift();
    },
    handledSince(now: number): number {
      const [first = now] = readings;
      return Math.min(seenSince(now), ...(readings.length < 3 ? [seenSince(first)] : readings));
    },
    /** Events that have been due since then may be ignored; `null` as long as none may be. */
    ignoreBefore(now: number): number | null {
      return readings.length < 2 ? null : Math.min(seenSince(now), ...readings.slice(-2));
    },
  };
}
