import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { ActReport, By } from '../inbox/operator/acts.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { actOnNamed, type InStates } from './act-on-named.ts';

const OPTIONS: KnownOptions<InStates> = { states: 'list' };

/**
 * Puts dead and pending events away: nobody will handle them. They become ignored, and can be rerun later. An invalid
 * event can only be ignored when its body fits today's schemas; otherwise it is `still invalid` and stays dead. Once it
 * is pruned or erased, it is neither counted nor grouped with the dead any more.
 *
 * @param keys - 500 at most; for more there is `previewBulk`
 * @param options - `states` leaves events in any other state as they are: `changed`
 * @throws ConfigurationError for too many events, or an act of nobody
 * @throws InboxUnavailableError when nothing was done
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
