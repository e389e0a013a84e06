import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { Wait } from '../inbox/rules/waiting.ts';
import { operationsOf } from './operations-of.ts';

/**
 * Explains why an event has not been processed yet, according to the rules that processors follow. The reason may be an
 * older event of its entity, a missing processor, or the time of the next attempt. The result also counts the newer
 * events of the entity that are waiting. Returns `null` if the event is processed, dead or unknown.
 *
 * @param now - milliseconds since 1970; a processor last seen more than ten minutes before this time counts as gone
 * @throws ConfigurationError `INVALID_OPTION` for an inbox without `operations`
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
