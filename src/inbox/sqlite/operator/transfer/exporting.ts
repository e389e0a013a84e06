import { eventLine, type ExportedEvent, type ExportedMark } from '../../../operator/export-format.ts';
import { exportPagesBefore, type ExportSource } from '../../../operator/export-pages.ts';
import type { Transfer } from '../../../operator/transfer.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import type { EventRow } from '../../sql/records.ts';
import type { Access } from '../access.ts';
import type { AttemptRow } from '../../engine/attempts.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { timesOf } from '../../sql/records.ts';
import { readTogether } from '../read-together.ts';
import { newestSeq } from '../../sql/newest-seq.ts';
import { search } from '../search/event-search.ts';

/** A row of hookbox_events, with what only the file it is handled in needs to know. */
interface ExportedRow extends EventRow {
  readonly settled_ms: number | null;
  readonly due_ms: number;
  readonly attempts: number;
  readonly failures: number;
  readonly crashes: number;
  readonly trigger: 'auto' | 'manual';
  readonly fingerprint: string | null;
  readonly erased_ms: number | null;
  readonly body_sha256: Uint8Array | null;
  readonly trace: string | null;
  readonly yields: 0 | 1;
}

interface MarkRow {
  readonly entity: string;
  readonly endpoint: string;
  readonly created_ms: number;
  readonly created_ns: number;
}

export function exporting(access: Access): Pick<Transfer, 'exportPages'> {
  return {
    // At once: what is stored from now on is not among them.
    exportPages: (filter) => exportPagesBefore(exportSource(access), filter, newestSeq(access.database()) + 1),
  };
}

/** What an export reads of a file. */
export function exportSource(access: Access): ExportSource {
  return {
    search: (filter, page) => search(access).search(filter, page),
    sizedBehind(after, end, limit) {
      const sql = 'SELECT seq FROM hookbox_events WHERE seq > ? AND seq < ? ORDER BY seq LIMIT +?';
      const rows = statement(access.database(), sql).all(after, end, limit) as { seq: number }[];
      return rows.map(({ seq }) => ({ seq, bytes: bytesOf(access.database(), seq) }));
    },
    sizedOf: (seqs) => seqs.map((seq) => ({ seq, bytes: bytesOf(access.database(), seq) })),
    lines(seqs) {
      const database = access.database();
      return readTogether(database, () => seqs.flatMap((seq) => lineOf(database, seq) ?? []));
    },
    marksBehind({ entity, endpoint }, limit) {
      const rows = statement(
        access.database(),
        `SELECT entity, endpoint, created_ms, created_ns FROM hookbox_entities
         WHERE (entity, endpoint) > (?, ?) ORDER BY entity, endpoint LIMIT +?`,
      ).all(entity, endpoint, limit) as MarkRow[];
      return rows.map((row) => ({ mark: markOf(row), place: row }));
    },
  };
}

/** The bytes of an event's bodies, which SQLite does not read for that; 0 if the event is gone. */
export function bytesOf(database: SqliteDatabase, seq: number): number {
  const row = statement(
    database,
    `SELECT coalesce(length(body), 0)
       + coalesce((SELECT length(body) FROM hookbox_conflicts WHERE hookbox_conflicts.seq = :seq), 0) AS bytes
     FROM hookbox_events WHERE seq = :seq`,
  ).get({ seq });
  return (row as { bytes: number } | undefined)?.bytes ?? 0;
}

function lineOf(database: SqliteDatabase, seq: number): string | null {
  const found = statement(database, 'SELECT * FROM hookbox_events WHERE seq = ?').get(seq);
  if (found === undefined) return null;
  const row = found as ExportedRow;
  return eventLine({
    endpoint: row.endpoint,
    id: row.id,
    type: row.type,
    created: row.created_ms === null ? null : { ms: row.created_ms, ns: row.created_ns ?? 0 },
    entity: row.entity,
    verified: row.verified === 1,
    state: row.state,
    deadReason: row.dead_reason,
    receivedMs: row.received_ms,
    settledMs: row.settled_ms,
    dueMs: row.due_ms,
    begun: row.attempts,
    failures: row.failures,
    crashes: row.crashes,
    trigger: row.trigger,
    fingerprint: row.fingerprint,
    erasedMs: row.erased_ms,
    body: row.body,
    sha256: row.body_sha256,
    attempts: attemptsOf(database, seq),
    redeliveries: redeliveriesOf(database, seq),
    conflict: conflictOf(database, seq),
    ...(row.trace !== null && { trace: row.trace }),
    ...(row.yields === 1 && { yields: true }),
  });
}

function attemptsOf(database: SqliteDatabase, seq: number): ExportedEvent['attempts'] {
  const rows = statement(database, 'SELECT * FROM hookbox_attempts WHERE seq = +? ORDER BY number').all(seq);
  return rows.map((found) => {
    const row = found as AttemptRow;
    const { error_name: name, error_message: message, error_stack: stack } = row;
    return {
      number: row.number,
      trigger: row.trigger,
      outcome: row.outcome,
      startedMs: row.started_ms,
      endedMs: row.ended_ms,
      error: name === null ? null : { name, message, stack },
      ...(row.skipped !== null && { skipped: row.skipped }),
    };
  });
}

function redeliveriesOf(database: SqliteDatabase, seq: number): ExportedEvent['redeliveries'] {
  return exportedTimes(statement(database, 'SELECT * FROM hookbox_redeliveries WHERE seq = ?').get(seq));
}

function conflictOf(database: SqliteDatabase, seq: number): ExportedEvent['conflict'] {
  const found = statement(database, 'SELECT * FROM hookbox_conflicts WHERE seq = ?').get(seq);
  const times = exportedTimes(found);
  return times === null ? null : { ...times, body: (found as { readonly body: Uint8Array }).body };
}

function exportedTimes(found: unknown): ExportedEvent['redeliveries'] {
  const times = timesOf(found);
  if (times === null) return null;
  const { count, first: firstMs, last: lastMs, recent: recentMs } = times;
  return { count, firstMs, lastMs, recentMs: [...recentMs] };
}

function markOf({ entity, endpoint, created_ms: createdMs, created_ns: ns }: MarkRow): ExportedMark {
  return { entity, endpoint, created: { ms: createdMs, ns } };
}
