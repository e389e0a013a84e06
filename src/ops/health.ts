import { InboxUnavailableError, isInstance, messageOf } from '../errors.ts';
import { LATE, startDeadline, withinDeadline, type Deadline } from '../host/host-limits.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import { PING_LIMIT_MS } from '../inbox/operator/counts.ts';
import { operationsOf } from './operations-of.ts';
import type { Unhandled } from './unhandled.ts';
import { watch, type Watch } from './watch.ts';
import { warningsOf, type Warning } from './words/watch-words.ts';

/** The result of {@link readiness}. */
export type Readiness =
  | {
      readonly ready: true;
      /** Events that no processor handles. They are stored, but need attention. */
      readonly unhandled: Unhandled['waiting'];
      /**
       * Problems that need attention, even though deliveries can be stored. A load balancer should continue to send
       * deliveries.
       */
      readonly warnings: readonly Warning[];
      /** Why the checks did not finish in time. `unhandled` and `warnings` are then empty. */
      readonly unwatched?: string;
    }
  | {
      readonly ready: false;
      /** Safe to show to anyone. */
      readonly code: InboxUnavailableError['code'];
      /** Show this only to people who may see the path of the file or the names of servers. */
      readonly why: string;
    };

/**
 * Tests whether the inbox can store a delivery now, by writing and removing a row. The test takes at most two seconds.
 * The result also contains the events that no processor handles, and warnings about silence, rejections and missing
 * processors. If these checks do not finish in time, the inbox still counts as ready, and `unwatched` contains the
 * reason.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an inbox without `operations`
 * @example
 * ```ts
 * import { readiness } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const health = await readiness(inbox);
 * console.log(health.ready ? 'ready' : health.why);
 * if (health.ready) for (const { alarm, text } of health.warnings) console.log(alarm, text);
 * ```
 */
export async function readiness(inbox: AnyInbox): Promise<Readiness> {
  const operations = operationsOf(inbox);
  const deadline = startDeadline(PING_LIMIT_MS);
  try {
    await operations.ping();
    return { ready: true, ...(await watched(inbox, deadline)) };
  } catch (failure) {
    const code = isInstance(failure, InboxUnavailableError) ? failure.code : 'FAILED';
    return { ready: false, code, why: messageOf(failure) };
  } finally {
    deadline.met();
  }
}

type Watched = Omit<Extract<Readiness, { ready: true }>, 'ready'>;

/** A machine that can store goes on being sent deliveries, whatever becomes of this. */
async function watched(inbox: AnyInbox, deadline: Deadline): Promise<Watched> {
  const blind = (unwatched: string): Watched => ({ unhandled: [], warnings: [], unwatched });
  try {
    const seen = await withinDeadline(watchOnce(inbox), deadline);
    if (seen === LATE) return blind(`checking the inbox took more than ${PING_LIMIT_MS / 1_000} s`);
    return { unhandled: seen.unhandled.waiting, warnings: warningsOf(seen, inbox, new Date()) };
  } catch (failure) {
    return blind(messageOf(failure));
  }
}

const underWay = new WeakMap<AnyInbox, Promise<Watch>>();

/** Who asks while somebody looks gets what that one sees: where looking takes long, probes do not add up. */
function watchOnce(inbox: AnyInbox): Promise<Watch> {
  const begun = underWay.get(inbox) ?? watch(inbox).finally(() => underWay.delete(inbox));
  underWay.set(inbox, begun);
  return begun;
}
