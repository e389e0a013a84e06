import { InboxUnavailableError, isInstance, messageOf } from '../errors.ts';
import type { Inbox } from '../inbox/contract.ts';
import { operationsOf } from './operations-of.ts';
import { unhandledEvents, type Unhandled } from './unhandled.ts';

export type Readiness =
  | {
      readonly ready: true;
      /** what waits because nobody handles it: it is stored, but somebody should know */
      readonly unhandled: Unhandled['waiting'];
    }
  | {
      readonly ready: false;
      /** tells a stranger nothing about the machine */
      readonly code: InboxUnavailableError['code'];
      /** for those who may know the path of the file, or the names of the server */
      readonly why: string;
    };

/**
 * Whether a delivery could be stored now: writes to the inbox and takes it back, and waits two seconds at most. Says also
 * what is stored and waits in vain.
 *
 * @throws ConfigurationError for an inbox that cannot be looked into
 * @example
 * ```ts
 * import { readiness } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const health = await readiness(inbox);
 * console.log(health.ready ? `ready; of ${health.unhandled.length} types nobody handles the events` : health.why);
 * ```
 */
export async function readiness(inbox: Inbox): Promise<Readiness> {
  const operations = operationsOf(inbox);
  try {
    await operations.ping();
    const { waiting } = await unhandledEvents(inbox);
    return { ready: true, unhandled: waiting };
  } catch (failure) {
    const code = isInstance(failure, InboxUnavailableError) ? failure.code : 'FAILED';
    return { ready: false, code, why: messageOf(failure) };
  }
}
