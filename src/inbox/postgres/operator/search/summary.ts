import type { EventKey } from '../../../event.ts';
import type { EventSummary } from '../../../operator/search.ts';
import { invalidityOf, MOST_READ_BYTES } from '../../../rules/invalidity.ts';
import type { DeadReason, EventState } from '../../../state.ts';
import type { DatabaseTime } from '../../database-time.ts';
import type { Session } from '../../driver/session.ts';
import { places, STATE } from '../../sql/records.ts';
import { rowOf, type Tables } from '../../sql/tables.ts';

/** A row of `selectSummaries`; the CHECKs of the tables hold the unions. */
interface SummaryRow {
  readonly seq: number;
  readonly endpoint: string;
  readonly id: string;
  readonly type: string | null;
  readonly entity: string | null;
  readonly verified: boolean;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly received_ms: number;
  readonly settled_ms: number | null;
  readonly due_ms: number | null;
  readonly attempts: number;
  readonly failures: number;
  readonly fingerprint: string | null;
  readonly pruned: boolean;
  readonly redeliveries: number;
  readonly conflicts: number;
  readonly error_name: string | null;
  readonly error_message: string | null;
  /** of an invalid event without an error, unless it is large */
  readonly unread: Buffer | null;
}

/**
 * What is shown of events, everything but their bytes. Of an event that was processed only its attempts tell how it went: its
 * failures are those since it was stored or rerun.
 *
 * @param events - gives the rows of the table of events, called `events`, for FROM
 */
function selectSummaries(t: Tables, events: string): string {
  const attempt = (as: string, columns: string, where: string): string => `
    LEFT JOIN LATERAL (
      SELECT ${columns} FROM ${t.attempts} WHERE seq = events.seq AND ${where} ORDER BY number DESC LIMIT 1
    ) AS ${as} ON true`;
  const failures = `
    (SELECT count(*) FROM ${t.attempts} WHERE seq = events.seq AND outcome = 'failed' AND number >= coalesce(
      (SELECT max(number) FROM ${t.attempts} WHERE seq = events.seq AND trigger = 'manual'), 0))`;
  return `
    SELECT events.seq, events.endpoint, events.id, events.type, events.entity, events.verified, ${STATE},
      events.received_ms, CASE WHEN queue.seq IS NULL THEN coalesce(shelf.settled_ms, last.ended_ms) END AS settled_ms,
      queue.due_ms, coalesce(queue.attempts, shelf.attempts, last.number, 0) AS attempts,
      coalesce(queue.failures, shelf.failures, ${failures}) AS failures, shelf.fingerprint, events.body IS NULL AS pruned,
      coalesce(again.count, 0) AS redeliveries, coalesce(other.count, 0) AS conflicts, failed.error_name,
      failed.error_message,
      CASE WHEN shelf.dead_reason = 'invalid' AND failed.error_name IS NULL AND octet_length(events.body) <= ${MOST_READ_BYTES}
        THEN events.body END AS unread
    FROM ${events} ${places(t)}
      ${attempt('last', 'number, ended_ms', 'true')}
      ${attempt('failed', 'error_name, error_message', 'error_name IS NOT NULL')}
      LEFT JOIN ${rowOf(t.redeliveries, 'again', 'found.seq = events.seq')} ON true
      LEFT JOIN ${rowOf(t.conflicts, 'other', 'found.seq = events.seq')} ON true`;
}

/** The summaries of events by their `seq`, in this order; those that are not there are left out. Follow the time first. */
export async function summariesOf(
  session: Session,
  { t, time }: { readonly t: Tables; readonly time: Pick<DatabaseTime, 'toCaller'> },
  seqs: readonly number[],
): Promise<readonly EventSummary[]> {
  const given = 'unnest($1::bigint[]) WITH ORDINALITY AS given (seq, place)';
  const events = `${given} CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = given.seq')}`;
  const rows = await session.rows<SummaryRow>(`${selectSummaries(t, events)} ORDER BY given.place`, [seqs]);
  return rows.map((row) => summaryOf(row, time));
}

/** The summary of the event of a key, or `null`. Follow the time first. */
export async function summaryOfKey(
  session: Session,
  { t, time }: { readonly t: Tables; readonly time: Pick<DatabaseTime, 'toCaller'> },
  { id, endpoint }: EventKey,
): Promise<EventSummary | null> {
  const text = `${selectSummaries(t, `${t.events} AS events`)} WHERE events.id = $1 AND events.endpoint = $2`;
  const row = await session.row<SummaryRow>(text, [id, endpoint]);
  return row === undefined ? null : summaryOf(row, time);
}

/** A row as it is shown, by the caller's clock. */
function summaryOf(row: SummaryRow, time: Pick<DatabaseTime, 'toCaller'>): EventSummary {
  const at = (ms: number | null): Date | null => (ms === null ? null : new Date(time.toCaller(ms)));
  return {
    seq: row.seq,
    endpoint: row.endpoint,
    id: row.id,
    type: row.type,
    entity: row.entity,
    verified: row.verified,
    state: row.state,
    deadReason: row.dead_reason,
    receivedAt: new Date(time.toCaller(row.received_ms)),
    settledAt: at(row.settled_ms),
    dueAt: row.state === 'pending' ? at(row.due_ms) : null,
    attempts: row.attempts,
    failures: row.failures,
    redeliveries: row.redeliveries,
    conflicts: row.conflicts,
    lastError: lastErrorOf(row),
    // Where nobody has said why, the reason is what an event is grouped by. A tombstone is in no group.
    fingerprint: row.state === 'dead' && !row.pruned ? printOf(row) : null,
    pruned: row.pruned,
  };
}

function printOf({ fingerprint, dead_reason: reason }: SummaryRow): string | null {
  return fingerprint ?? reason;
}

function lastErrorOf({ error_name: name, error_message: message, unread }: SummaryRow): EventSummary['lastError'] {
  if (name !== null) return { name, message: message ?? '' };
  return unread === null ? null : invalidityOf(unread);
}
