import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { ActReport, By } from '../inbox/operator/acts.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { actOnNamed, type InStates } from './act-on-named.ts';

const OPTIONS: KnownOptions<InStates> = { states: 'list' };

/**
 * Has events that failed and wait for their next attempt tried again now. Only when they are due changes: their attempts,
 * failures and crashes go on being counted, so that the next backoff is as long as it would have been, and a last attempt is
 * still the last. What waits behind an older event of its entity waits for that all the same. An event in processing, one
 * that is due already and one that is settled is `not needed`, and left as it is.
 *
 * @param keys - 500 at most, whose bodies have 512 KiB together at most, or one; for more there is `previewBulk`
 * @param options - `states` leaves events in any other state as they are: `changed`
 * @throws ConfigurationError for too many events, or an act of nobody
 * @throws InboxUnavailableError when nothing was done
 * @example
 * ```ts
 * import { retryEventsNow } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const key = { endpoint: 'default', id: 'evt_1' };
 * const { counts } = await retryEventsNow(inbox, [key], { actor: 'ada', reason: 'the warehouse is back' });
 * console.log(counts); // { unknown: 1 }
 * await inbox.close();
 * ```
 */
export async function retryEventsNow(
  inbox: AnyInbox,
  keys: readonly EventKey[],
  by: By,
  options: InStates = {},
): Promise<ActReport> {
  assertOptions('retryEventsNow', options, OPTIONS);
  return actOnNamed(inbox, 'retry-now', keys, by, options);
}
