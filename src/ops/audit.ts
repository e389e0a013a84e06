import type { Inbox } from '../inbox/contract.ts';
import type { AuditPage } from '../inbox/operator/audit.ts';
import type { PageRequest } from '../inbox/operator/filter.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { operationsOf } from './operations-of.ts';

const PAGE: KnownOptions<PageRequest> = { before: true, limit: true };

/**
 * What operators did, the newest first: who, when, to which events, why, and with what result.
 *
 * @throws ConfigurationError for a limit that is no whole number from 1 to 500
 * @example
 * ```ts
 * import { auditLines } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const { lines } = await auditLines(inbox, { limit: 10 });
 * for (const { at, actor, act, counts } of lines) console.log(at, actor, act, counts);
 * await inbox.close();
 * ```
 */
export async function auditLines(inbox: Inbox, page: PageRequest = {}): Promise<AuditPage> {
  assertOptions('auditLines', page, PAGE);
  return operationsOf(inbox).lines(page);
}
