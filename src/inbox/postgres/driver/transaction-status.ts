import type { Session } from './session.ts';

/**
 * What has become of a transaction: `in progress`, `committed`, `aborted`, or `null` where that was long ago. A server that has
 * taken over may never have heard of it, and would fail if it were asked: then what it gives out itself is not later.
 */
export async function transactionStatus(session: Session, id: string | undefined): Promise<string | null> {
  const row = await session.row<{ status: string | null }>(
    `SELECT CASE WHEN $1::xid8 < pg_current_xact_id() THEN pg_xact_status($1::xid8) ELSE 'aborted' END AS status`,
    [id],
  );
  return row?.status ?? null;
}
