import type { AnyInbox } from '../inbox/contract.ts';
import type { EventSummary, RetryGroup } from '../inbox/operator/search.ts';
import { retryGroupsOf } from '../inbox/rules/error-groups.ts';
import { operationsOf } from './operations-of.ts';

const PAGE = 500;
/** So many are looked at: their errors are read one by one. */
const MOST = 5_000;

/**
 * Groups retrying events by the text of their last error, as `deadGroups` does for dead events. Returns the 200 largest
 * groups, largest first. The function examines the 5,000 newest retrying events; if more exist, `more` is `true` in
 * each group. The filter `{ retrying: true, fingerprint }` selects the events of a group, for example for
 * `previewBulk`.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an inbox without `operations`
 * @example
 * ```ts
 * import { retryGroups } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * for (const { count, sample, nextDueAt } of await retryGroups(inbox)) {
 *   console.log(count, sample?.message, nextDueAt?.toISOString());
 * }
 * ```
 */
export async function retryGroups(inbox: AnyInbox): Promise<readonly RetryGroup[]> {
  const operations = operationsOf(inbox);
  const events: EventSummary[] = [];
  let before: number | null = null;
  do {
    const page = await operations.search({ retrying: true }, { before, limit: PAGE });
    events.push(...page.events);
    before = page.next;
  } while (before !== null && events.length < MOST);
  return retryGroupsOf(events, before !== null);
}
