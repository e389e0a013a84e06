import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { ActReport, By } from '../inbox/operator/acts.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { actOnNamed, type InStates } from './act-on-named.ts';

const OPTIONS: KnownOptions<InStates> = { states: 'list' };

/**
 * Discards dead and pending events, so that no handler runs for them. Discarded events can be rerun later.
 *
 * An invalid event becomes discarded only if its body fits the current schemas. Otherwise, the result is `still
 * invalid` and the event stays dead. Once such an event is pruned or erased, it no longer counts as dead.
 *
 * @param keys - at most 500 events; for more, use {@link previewBulk}
 * @param options - with `states`, an event in any other state stays unchanged and is reported as `changed`
 * @throws ConfigurationError `INVALID_OPTION` for too many events or a missing `by`
 * @throws InboxUnavailableError if the inbox could not be written to; in that case, nothing has changed
 * @example
 * ```ts
 * import { discardEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const { results } = await discardEvents(inbox, [{ endpoint: 'default', id: 'evt_1' }], { actor: 'ada' });
 * console.log(results[0]?.result); // unknown
 * await inbox.close();
 * ```
 */
export async function discardEvents(
  inbox: AnyInbox,
  keys: readonly EventKey[],
  by: By,
  options: InStates = {},
): Promise<ActReport> {
  assertOptions('discardEvents', options, OPTIONS);
  return actOnNamed(inbox, 'discard', keys, by, options);
}
