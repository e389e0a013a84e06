import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { Wait } from '../inbox/operator/waits.ts';
import { operationsOf } from './operations-of.ts';

/**
 * Why an event is not handled yet, by the rules that processors claim by: which event it waits behind and how many wait there;
 * that nobody is there who handles its type; when it is tried again. `null` for an event that was processed, is dead or is not
 * there.
 *
 * @param now - milliseconds since 1970; whoever was not seen in the ten minutes before counts as gone
 * @throws ConfigurationError for an inbox that cannot be looked into
 * @example
 * ```ts
 * import { whyWaiting } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const wait = await whyWaiting(inbox, { endpoint: 'default', id: 'evt_2' });
 * if (wait?.reason === 'behind') {
 *   const { event, waiting } = wait.blocker;
 *   console.log(`behind ${event.id}, which has failed ${event.failures} times; ${waiting.count} wait`);
 * }
 * ```
 */
export async function whyWaiting(inbox: AnyInbox, key: EventKey, now = Date.now()): Promise<Wait | null> {
  const [wait = null] = await operationsOf(inbox).waits([key], now);
  return wait;
}
