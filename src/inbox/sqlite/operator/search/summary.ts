import type { EventKey } from '../../../event.ts';
import type { EventSummary } from '../../../operator/search.ts';
import { invalidityOf, MOST_READ_BYTES } from '../../../rules/invalidity.ts';
import type { DeadReason, EventState } from '../../../state.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { keyIs } from '../../sql/event-key.ts';

/** A row of hookbox_events with what is counted elsewhere; the CHECKs of the tables hold the unions. */
export interface SummaryRow extends EventKey {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  readonly verified: 0 | 1;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly received_ms: number;
  readonly settled_ms: number | null;
  readonly due_ms: number;
  readonly attempts: number;
  readonly failures: number;
  readonly fingerprint: string | null;
  /** `null` for a tombstone */
  readonly bytes: number | null;
  readonly redeliveries: number | null;
  readonly conflicts: number | null;
}

/** The columns of a `SummaryRow`, of a table that is called `e`. */
export const SUMMARY_COLUMNS = `
  e.seq, e.endpoint, e.id, e.type, e.entity, e.verified, e.state, e.dead_reason, e.received_ms, e.settled_ms, e.due_ms,
  e.attempts, e.failures, e.fingerprint, length(e.body) AS bytes,
  (SELECT count FROM hookbox_redeliveries AS r WHERE r.seq = e.seq) AS redeliveries,
  (SELECT count FROM hookbox_conflicts AS c WHERE c.seq = e.seq) AS conflicts`;

/** The summary of the event of a key, or `null`. */
export function summaryOfKey(database: SqliteDatabase, { id, endpoint }: EventKey): EventSummary | null {
  const row = statement(database, `SELECT ${SUMMARY_COLUMNS} FROM hookbox_events AS e WHERE ${keyIs()}`).get({
    id,
    endpoint,
  });
  return row === undefined ? null : summaryOf(database, row as SummaryRow);
}

/** The summary of an event that is there. */
export function summaryOfSeq(database: SqliteDatabase, seq: number): EventSummary | undefined {
  const row = statement(database, `SELECT ${SUMMARY_COLUMNS} FROM hookbox_events AS e WHERE e.seq = ?`).get(seq);
  return row === undefined ? undefined : summaryOf(database, row as SummaryRow);
}

/** A row as it is shown, with the error that is kept elsewhere. */
export function summaryOf(database: SqliteDatabase, row: SummaryRow): EventSummary {
  return {
    seq: row.seq,
    endpoint: row.endpoint,
    id: row.id,
    type: row.type,
    entity: row.entity,
    verified: row.verified === 1,
    state: row.state,
    deadReason: row.dead_reason,
    receivedAt: new Date(row.received_ms),
    settledAt: row.settled_ms === null ? null : new Date(row.settled_ms),
    dueAt: row.state === 'pending' ? new Date(row.due_ms) : null,
    attempts: row.attempts,
    failures: row.failures,
    redeliveries: row.redeliveries ?? 0,
    conflicts: row.conflicts ?? 0,
    lastError: lastErrorOf(database, row.seq) ?? whatIsInvalid(database, row),
    // Where nobody has said why, the reason is what an event is grouped by. A tombstone is in no group.
    fingerprint: row.state === 'dead' && row.bytes !== null ? (row.fingerprint ?? row.dead_reason) : null,
    pruned: row.bytes === null,
  };
}

/** Of an invalid event. */
function whatIsInvalid(database: SqliteDatabase, { seq, dead_reason, bytes }: SummaryRow): EventSummary['lastError'] {
  if (dead_reason !== 'invalid' || bytes === null || bytes > MOST_READ_BYTES) return null;
  const found = statement(database, 'SELECT body FROM hookbox_events WHERE seq = ?').get(seq);
  return invalidityOf((found as { body: Uint8Array }).body);
}

/** The error of the last attempt that has one. */
export function lastErrorOf(database: SqliteDatabase, seq: number): EventSummary['lastError'] {
  const row = statement(
    database,
    `SELECT error_name AS name, error_message AS message FROM hookbox_attempts
     WHERE seq = +? AND error_name IS NOT NULL ORDER BY number DESC LIMIT 1`,
  ).get(seq) as { name: string; message: string | null } | undefined;
  return row === undefined ? null : { name: row.name, message: row.message ?? '' };
}
