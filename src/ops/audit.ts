import type { AnyInbox } from '../inbox/contract.ts';
import type { AuditFilter, AuditPage } from '../inbox/operator/audit.ts';
import type { PageRequest } from '../inbox/operator/filter.ts';
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
 * What operators did, the newest first: who, when, to which events, why, and with what result.
 *
 * @param request - `actor` for what one of them did, by the exact name; `since` and `until` for a span; `limit`, 50 lines unless
 * given; `before`, the `next` of the page before. Of a filter five thousand lines are looked at for a page: go on until `next`
 * is `null`
 * @throws ConfigurationError for a limit that is no whole number from 1 to 500, a name that is none, or a time that is none
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
