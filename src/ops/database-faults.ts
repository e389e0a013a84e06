import type { AnyInbox, DatabaseFault } from '../inbox/contract.ts';
import { operationsOf } from './operations-of.ts';

/**
 * Looks for what makes Postgres slow or unreachable for the inbox: old transactions, autovacuum that is off, many dead
 * rows in the tables of hookbox, and few free connections. Returns an empty list for an inbox in SQLite.
 *
 * @example
 * ```ts
 * import { databaseFaults } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * for (const { what, advice } of await databaseFaults(inbox)) console.log(what, advice);
 * ```
 */
export async function databaseFaults(inbox: AnyInbox): Promise<readonly DatabaseFault[]> {
  return (await operationsOf(inbox).databaseFaults?.()) ?? [];
}
