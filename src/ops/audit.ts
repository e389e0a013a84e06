import type { AnyInbox } from '../inbox/contract.ts';
import type { PageRequest } from '../inbox/operator/search.ts';
import type { AuditFilter, AuditPage } from '../inbox/operator/audit.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { operationsOf } from './operations-of.ts';

const REQUEST: KnownOptions<PageRequest & AuditFilter> = {
  before: true,
  limit: true,
  actor: true,
  since: true,
  until: true,
};

/**
 * Lists operators' actions, newest first, with the operator, time, events, reason and result.
 *
 * @param request - `actor`: only this operator, by exact name. `since` and `until`: a time span. `limit`: 50 lines by
 * default. `before`: the `next` of the previous page. With a filter, hookbox examines at most 5,000 lines for each
 * page, so continue until `next` is `null`.
 * @throws ConfigurationError `INVALID_OPTION` for a limit that is not a whole number from 1 to 500, or an invalid name
 * or time
 * @example
 * ```ts
 * import { auditLines } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const { lines } = await auditLines(inbox, { limit: 10, actor: 'ada', since: new Date('2026-01-31') });
 * for (const { at, actor, act, counts } of lines) console.log(at, actor, act, counts);
 * await inbox.close();
 * ```
 */
export async function auditLines(inbox: AnyInbox, request: PageRequest & AuditFilter = {}): Promise<AuditPage> {
  assertOptions('auditLines', request, REQUEST);
  return operationsOf(inbox).lines(request);
}
