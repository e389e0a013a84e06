import { readEvent } from '../../events/parse.ts';
import type { DeadReason, EventKey } from '../event.ts';
import type { ActedRow } from '../rules/operator-acts.ts';
import type { EventSummary } from './search.ts';
import type { Clock, Dialect, Reader, Statement } from './sql.ts';

export interface SummaryRow
  extends
    EventKey,
    Pick<
      EventSummary,
      'seq' | 'type' | 'entity' | 'state' | 'deadReason' | 'attempts' | 'failures' | 'lastOutcome' | 'fingerprint'
    > {
  readonly verified: unknown;
  readonly receivedMs: number;
  readonly settledMs: number | null;
  readonly dueMs: number | null;
  /** `null` for a tombstone */
  readonly bytes: number | null;
  readonly redeliveries: number | null;
  readonly conflicts: number | null;
  readonly error_name: string | null;
  readonly error_message: string | null;
  /** the body of an invalid event, unless it is large */
  readonly unread: Uint8Array | null;
}

/** The search for issues must stay cheap. */
const MOST_READ_BYTES = 64 * 1024;

export function lastFailed(t: Dialect['t'], column: 'error_name' | 'error_message'): string {
  return `(
    SELECT ${column} FROM ${t.attempts} WHERE seq = event.seq AND error_name IS NOT NULL ORDER BY number DESC LIMIT 1)`;
}

export function lastOutcome(t: Dialect['t']): string {
  return `CASE WHEN trigger = 'auto' THEN (
    SELECT outcome FROM ${t.attempts} WHERE seq = event.seq ORDER BY number DESC LIMIT 1) END`;
}

/** For FROM, with the columns of `Dialect.event`. */
export function eventsIn({ event: { columns, joins } }: Pick<Dialect, 'event'>, events: string): string {
  return `(SELECT events.*, ${columns} FROM ${events} ${joins}) AS event`;
}

/** The first parameter is the list of their `seq`. */
export function listedEvents({ t, list, joinRow }: Pick<Dialect, 't' | 'list' | 'joinRow'>): string {
  return `${list('$1', 'bigint')} ${joinRow(t.events, 'events', (row) => `${row}.seq = value`)}`;
}

function selectSummaries(dialect: Dialect, events: string): string {
  const { t } = dialect;
  return `
    SELECT seq, endpoint, id, type, entity, verified, state, dead_reason AS "deadReason", received_ms AS "receivedMs",
      settled_ms AS "settledMs", due_ms AS "dueMs", attempts, failures, ${lastOutcome(t)} AS "lastOutcome",
      fingerprint, length(body) AS bytes,
      (SELECT again.count FROM ${t.redeliveries} AS again WHERE again.seq = event.seq) AS redeliveries,
      (SELECT other.count FROM ${t.conflicts} AS other WHERE other.seq = event.seq) AS conflicts,
      ${lastFailed(t, 'error_name')} AS error_name, ${lastFailed(t, 'error_message')} AS error_message,
      CASE WHEN dead_reason = 'invalid' AND length(body) <= ${MOST_READ_BYTES} THEN body END AS unread
    FROM ${eventsIn(dialect, events)}`;
}

export function summariesBySeq(dialect: Dialect, seqs: readonly number[]): Required<Statement> {
  return { text: selectSummaries(dialect, listedEvents(dialect)), values: [seqs] };
}

/** In this order, without missing events. */
export async function summariesOf(
  { rows, ...clock }: Reader,
  dialect: Dialect,
  seqs: readonly number[],
): Promise<readonly EventSummary[]> {
  if (seqs.length === 0) return [];
  const found = await rows<SummaryRow>(summariesBySeq(dialect, seqs));
  const summaries = new Map(found.map((row) => [row.seq, summaryOf(row, clock)]));
  return seqs.flatMap((seq) => summaries.get(seq) ?? []);
}

export async function summaryOfKey(
  { rows, ...clock }: Reader,
  dialect: Dialect,
  { id, endpoint }: EventKey,
): Promise<EventSummary | null> {
  const text = `${selectSummaries(dialect, `${dialect.t.events} AS events`)} WHERE ${dialect.keyIs('$1', '$2')}`;
  const [row] = await rows<SummaryRow>({ text, values: [id, endpoint] });
  return row === undefined ? null : summaryOf(row, clock);
}

export function summaryOf(
  { verified, receivedMs, settledMs, dueMs, bytes, error_name, error_message, unread, ...row }: SummaryRow,
  { toCaller }: Pick<Clock, 'toCaller'>,
): EventSummary {
  const at = (ms: number | null): Date | null => (ms === null ? null : new Date(toCaller(ms)));
  return {
    ...row,
    verified: Boolean(verified),
    receivedAt: new Date(toCaller(receivedMs)),
    settledAt: at(settledMs),
    dueAt: row.state === 'pending' ? at(dueMs) : null,
    redeliveries: row.redeliveries ?? 0,
    conflicts: row.conflicts ?? 0,
    lastError: lastErrorOf({ error_name, error_message }) ?? (unread === null ? null : invalidityOf(unread)),
    // Without an error, the reason is the group. A tombstone is in no group.
    fingerprint: row.state === 'dead' && bytes !== null ? (row.fingerprint ?? row.deadReason) : null,
    pruned: bytes === null,
  };
}

export function lastErrorOf({
  error_name: name,
  error_message: message,
}: Pick<SummaryRow, 'error_name' | 'error_message'>): EventSummary['lastError'] {
  return name === null ? null : { name, message: message ?? '' };
}

function invalidityOf(body: Uint8Array): EventSummary['lastError'] {
  const { parsed } = readEvent(body);
  if (parsed.ok) return { name: 'InvalidEvent', message: 'the event fits the current schemas of hookbox; rerun it' };
  return { name: 'InvalidEvent', message: parsed.issues.map((issue) => `${issue.path}: ${issue.message}`).join('; ') };
}

export interface ActedColumns extends Omit<ActedRow, 'deadReason' | 'dueMs' | 'pruned' | 'erased'> {
  readonly dead_reason: DeadReason | null;
  readonly due_ms: number | null;
  readonly pruned: unknown;
  readonly erased: unknown;
}

export function actedColumns({ stateToActOn, queued, attempts }: Dialect): string {
  return `
    events.seq, events.endpoint, events.id, events.type, events.entity, ${stateToActOn}, events.body IS NULL AS pruned,
    events.erased_ms IS NOT NULL AS erased, ${queued}.due_ms,
    ${attempts} AS attempts, coalesce(length(events.body), 0) AS bytes`;
}

export function actedRow({ dead_reason: deadReason, due_ms: dueMs, pruned, erased, ...row }: ActedColumns): ActedRow {
  const flags = { pruned: Boolean(pruned), erased: Boolean(erased) };
  return { ...row, deadReason, ...flags, ...(dueMs !== null && { dueMs }) };
}

export function selectActed(dialect: Dialect, seqs: readonly number[]): Required<Statement> {
  const { t, event, anyOf } = dialect;
  const from = `${t.events} AS events ${event.joins} WHERE ${anyOf('events.seq', '$1', 'bigint')}`;
  return { text: `SELECT ${actedColumns(dialect)} FROM ${from}`, values: [seqs] };
}

/** @returns `null` for an unknown number */
export function actedInOrder(seqs: readonly number[], found: readonly unknown[]): readonly (ActedRow | null)[] {
  const rows = new Map((found as readonly ActedColumns[]).map((row) => [row.seq, actedRow(row)])); // of selectActed
  return seqs.map((seq) => rows.get(seq) ?? null);
}
