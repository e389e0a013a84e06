import { ownContext } from '../../host/own-context.ts';
import { InboxUnavailableError, isInstance } from '../../errors.ts';
import type { AnyInbox } from '../../inbox/contract.ts';
import { clearInterval, setInterval } from '../../host/real-timers.ts';
import type { Gauge } from '../../inbox/operator/counts.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import type { Changes } from './event-stream.ts';

/** How things stand, as far as pages that show it want to know. */
export interface Standing {
  /** the `seq` of the newest event; 0 when there is none */
  readonly newest: number;
  readonly pending: Gauge;
  readonly retrying: Gauge;
  readonly processing: Gauge;
  readonly dead: Gauge;
  /** grows with every change that was seen, in this process */
  readonly version: number;
}

export interface ChangesOptions {
  readonly everyMs?: number;
  /** told when the inbox was closed: nothing changes any more */
  readonly closed?: () => void;
}

const MINUTE_MS = 60_000;

/**
 * One look a second for all listeners, and none without any. A look is a few short reads: what was counted in the
 * last two minutes, the newest event, action and bulk action. Only when one of these differs are the states
 * counted.
 */
export function watchChanges(
  inbox: AnyInbox,
  { everyMs = 1_000, closed = () => {} }: ChangesOptions = {},
): Changes<Standing> {
  const listeners = new Set<(standing: Standing) => void>();
  /** Of a timer that serves all listeners and not the one that it begins with. */
  const inOwnContext = ownContext();
  let timer: NodeJS.Timeout | undefined;
  let looking = false;
  let seen = new Map<string, string>();
  let standing: Standing | null = null;

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    try {
      const found = await signs(inbox);
      // What is not counted in the last minutes any more has not changed by that.
      const changed = standing === null || Array.from(found).some(([what, sign]) => seen.get(what) !== sign);
      if (changed) {
        standing = await standingOf(inbox, found, (standing?.version ?? 0) + 1);
        tell(standing);
      }
      seen = found;
    } catch (failure) {
      // Where the inbox is busy the next look tells.
      if (isInstance(failure, InboxUnavailableError) && failure.code === 'CLOSED') closed();
    } finally {
      looking = false;
    }
  }

  function tell(now: Standing): void {
    for (const listener of listeners) listener(now);
  }

  return {
    listen(listener) {
      listeners.add(listener);
      if (standing !== null) listener(standing);
      if (timer === undefined) {
        // Nobody has looked for a while.
        void look();
        timer = inOwnContext(() => setInterval(() => void look(), everyMs).unref());
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}

const NEWEST = 'newest event';

/** What differs when something has happened, by what it is. */
async function signs(inbox: AnyInbox): Promise<Map<string, string>> {
  const operations = operationsOf(inbox);
  const now = Date.now();
  const since = Math.floor(now / MINUTE_MS - 1) * MINUTE_MS;
  const [rows, page, audit, bulks] = await Promise.all([
    operations.counts(since, now + MINUTE_MS),
    operations.search({}, { limit: 1 }),
    operations.lines({ limit: 1 }),
    operations.bulks({ limit: 3 }),
  ]);
  const found = new Map([[NEWEST, String(page.events[0]?.seq ?? 0)]]);
  for (const { at, what, detail, count } of rows) found.set(`${at} ${what} ${detail}`, String(count));
  for (const line of audit.lines) found.set('newest action', JSON.stringify([line.seq, line.counts]));
  for (const { id, state, worked, total } of bulks) found.set(`bulk ${id}`, JSON.stringify([state, worked, total]));
  return found;
}

async function standingOf(inbox: AnyInbox, found: ReadonlyMap<string, string>, version: number): Promise<Standing> {
  const { pending, retrying, processing, dead } = await operationsOf(inbox).gauges();
  return { newest: Number(found.get(NEWEST)), pending, retrying, processing, dead, version };
}
