import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { ActReport, By } from '../inbox/operator/acts.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { actOnNamed, type InStates } from './act-on-named.ts';

const OPTIONS: KnownOptions<InStates> = { states: 'list' };

/**
 * Makes failed events due now, instead of when their backoff ends. The counts of attempts, failures and crashes stay
 * the same, so the next backoff is no shorter, and an event gets no extra attempt. An event behind an older event of
 * its entity still waits for that event. An event that is already due, being processed or settled does not change; its
 * result is `not needed`.
 *
 * @param keys - at most 500 events whose bodies total at most 512 KiB, or one event of any size; for more, use
 * {@link previewBulk}
 * @param options - with `states`, an event in any other state stays unchanged and is reported as `changed`
 * @throws ConfigurationError `INVALID_OPTION` for too many events or a missing `by`
 * @throws InboxUnavailableError if the inbox could not be written to; in that case, nothing has changed
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
