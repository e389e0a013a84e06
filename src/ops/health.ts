import { InboxUnavailableError, isInstance, messageOf } from '../errors.ts';
import { LATE, startDeadline, withinDeadline, type Deadline } from '../host/deadline.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import { PING_LIMIT_MS } from '../inbox/operator/pinger.ts';
import { operationsOf } from './operations-of.ts';
import type { Unhandled } from './unhandled.ts';
import { watch, type Watch } from './watch.ts';
import { warningsOf, type Warning } from './words/watch-words.ts';

export type Readiness =
  | {
      readonly ready: true;
      /** what waits because nobody handles it: it is stored, but somebody should know */
      readonly unhandled: Unhandled['waiting'];
      /**
       * what somebody should see to although deliveries can be stored: a load balancer that stops sending them would make
       * it worse
       */
      readonly warnings: readonly Warning[];
      /** why nobody could look for these in time: `unhandled` and `warnings` are empty then, and say nothing */
      readonly unwatched?: string;
    }
  | {
      readonly ready: false;
      /** tells a stranger nothing about the machine */
      readonly code: InboxUnavailableError['code'];
      /** for those who may know the path of the file, or the names of the server */
      readonly why: string;
    };

/**
 * Whether a delivery could be stored now: writes to the inbox and takes it back, and waits two seconds at most, all in
 * all. Says also what is stored and waits in vain, and warns of silence, of rejections and of processors that have gone; where
 * that cannot be found out in time, it is ready all the same, and says why (`unwatched`).
 *
 * @throws ConfigurationError for an inbox that cannot be looked into
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
    if (seen === LATE) return blind(`the check of the inbox took more than ${PING_LIMIT_MS / 1_000} s`);
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
