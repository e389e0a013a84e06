import type { AnyInbox } from '../inbox/contract.ts';
import type { EventSummary, RetryGroup } from '../inbox/operator/search.ts';
import { retryGroupsOf } from '../inbox/rules/retry-groups.ts';
import { operationsOf } from './operations-of.ts';

const PAGE = 500;
/** So many are looked at: their errors are read one by one. */
const MOST = 5_000;

/**
 * Events that have failed and are tried again, grouped by what their last errors said as `deadGroups` are: the largest 200
 * groups, the largest first. Looks at the 5,000 newest of them; where there are others, each group has `more`. The events of
 * a group are those of the filter `{ retrying: true, fingerprint }`, also for `previewBulk(inbox, 'retry-now', …)`.
 *
 * @throws ConfigurationError for an inbox that cannot be looked into
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
